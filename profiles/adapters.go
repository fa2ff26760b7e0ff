package profiles

import _ "knee/target/adapter" // registers protections, so that their names are known wherever a profile is read
