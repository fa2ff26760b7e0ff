package cli

import (
	"slices"

	"github.com/spf13/cobra"
)

// newTargetsTopic returns the help on files of requests. It is no verb.
func newTargetsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "targets",
		Short: "files of requests, and templates",
		Long: `--targets FILE sends the requests of a file in place of one request to --url; - is
stdin. Both formats of vegeta are read, told apart by the first line. All that
is wrong with a file is said at once, each with its line, and nothing is sent.

The http format: a method and a URL, fields, a file with the body, which is looked
for from the working directory; an empty line ends a request. A comment of the
form "weight: N", 1 to 1000, says how often the next one is sent (knee's own):

  # weight: 3
  GET http://127.0.0.1:8080/items?page=2
  Accept: application/json

  POST http://127.0.0.1:8080/orders
  Content-Type: application/json
  @order.json

The json format: an object a line, its body in base64, "weight" as above:

  {"method": "GET", "url": "http://127.0.0.1:8080/items", "header": {"Accept": ["text/plain"]}, "weight": 3}
  {"method": "POST", "url": "http://127.0.0.1:8080/orders", "body": "e30="}

A file of paths needs the server as well, with --url:

  GET /items

  DELETE /items/7

Fields of --header are added to those of the file; --method, --body and --body-file
are for requests that have none. Requests take turns in the order of the file, by
their weights, in each trial from the first on. URLs may name several servers: all
must be allowed, and take connections before the run begins.

--template replaces placeholders in path and query, fields and bodies, of the file
or of the flags. It makes --variants N requests of each (4096) before the run, which
then take turns; the same --seed makes the same ones:

  POST http://127.0.0.1:8080/orders/{{seq}}?shard={{random 1 8}}
  Idempotency-Key: {{uuid}}

{{seq}} is the number of the variant from 1, {{random LOW HIGH}} a whole number, both
ends included, {{uuid}} a random UUID. A repetition of a request is sent as it was.

--connect-to, as of curl, and --unix-socket say where connections go, whatever the
URLs say; --allow is for where they go. --dns-ttl is the age at which names are
looked up again, by default 30s; 0 is never.`,
	}
}

// isTopic says whether help is asked for on what is no verb.
func isTopic(root *cobra.Command, args []string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool {
		return len(args) == 1 && args[0] == c.Name() && c.IsAdditionalHelpTopicCommand()
	})
}
