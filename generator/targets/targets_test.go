package targets

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// files are those with bodies that tests have.
func files(path string) ([]byte, error) {
	switch path {
	case "new.json", "path/to/new thing.json":
		return []byte("contents of " + path), nil
	}
	return nil, fmt.Errorf("open %s: no such file or directory", path)
}

// plain is a target as tests write it: method, URL, fields, body, weight.
func plain(t Target) string {
	s := t.Method + " " + t.URL
	for _, f := range t.Fields {
		s += " | " + f.Name + "=" + f.Value
	}
	if t.Body != nil {
		s += " | " + string(t.Body)
	}
	if t.Weight != 1 {
		s += fmt.Sprint(" × ", t.Weight)
	}
	return s
}

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"one": {"GET http://a/", []string{"GET http://a/"}},
		"as the README of vegeta has them": {
			"GET http://user:password@goku:9090/path/to\nX-Account-ID: 8675309\n\nDELETE http://goku:9090/path/to/remove\nConfirmation-Token: 90215\nAuthorization: Token DEADBEEF\n\n" +
				"POST http://goku:9090/things\n@path/to/new thing.json\n\nPATCH http://goku:9090/thing/71988591\nX-Account-ID: 8675309\n@new.json\n",
			[]string{
				"GET http://user:password@goku:9090/path/to | X-Account-ID=8675309",
				"DELETE http://goku:9090/path/to/remove | Confirmation-Token=90215 | Authorization=Token DEADBEEF",
				"POST http://goku:9090/things | contents of path/to/new thing.json",
				"PATCH http://goku:9090/thing/71988591 | X-Account-ID=8675309 | contents of new.json",
			},
		},
		"without empty lines":    {"GET http://a/\nGET http://b/\nX: 1\nHEAD http://c/\n", []string{"GET http://a/", "GET http://b/ | X=1", "HEAD http://c/"}},
		"a body ends a target":   {"PUT http://a/\n@new.json\nGET http://b/", []string{"PUT http://a/ | contents of new.json", "GET http://b/"}},
		"comments anywhere":      {"# a\n\n#b\nGET http://a/\n# c\nX: 1\n#d\n\n# e", []string{"GET http://a/ | X=1"}},
		"space around lines":     {"\ufeff  GET   http://a/ \r\n\tX:  1 \r\n\r\n\r\nGET http://b/\r\n", []string{"GET http://a/ | X=1", "GET http://b/"}},
		"case of names is kept":  {"GET http://a/\nx-lower: 1\nX-LOWER: 2", []string{"GET http://a/ | x-lower=1 | X-LOWER=2"}},
		"values with colons":     {"GET http://a/\nX: a:b: c", []string{"GET http://a/ | X=a:b: c"}},
		"weights":                {"# weight: 3\nGET http://a/\nX: 1\n#weight:2\n\nGET http://b/\nGET http://c/", []string{"GET http://a/ | X=1 × 3", "GET http://b/ × 2", "GET http://c/"}},
		"comment about weights":  {"# weights: none\nGET http://a/", []string{"GET http://a/"}},
		"template in a URL":      {"GET http://a/{{random 1 100}}", []string{"GET http://a/{{random 1 100}}"}},
		"json":                   {`{"method":"GET","url":"http://a/"}`, []string{"GET http://a/"}},
		"json, all of it":        {`{"$schema":{"x":[1]},"method":"POST","url":"http://a/","body":"aGk=","header":{"X":["1","2"],"y":["3"]},"weight":4}`, []string{"POST http://a/ | X=1 | X=2 | y=3 | hi × 4"}},
		"json, lines":            {"\n# c\n{\"method\":\"GET\",\"url\":\"http://a/\"}\r\n\n  { \"url\" : \"http://b/\" , \"method\" : \"PUT\" }  \n", []string{"GET http://a/", "PUT http://b/"}},
		"json without a method":  {`{"url":"http://a/"}`, []string{" http://a/"}},
		"json with nulls":        {`{"method":"GET","url":"http://a/","header":null,"body":null}`, []string{"GET http://a/ | "}},
		"json, escapes":          {`{"method":"GET","url":"http://a/\u003fx"}`, []string{"GET http://a/?x"}},
		"json, empty containers": {`{"method":"GET","url":"http://a/","header":{},"body":""}`, []string{"GET http://a/ | "}},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := Read("f", []byte(test.text), files)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, one := range all {
				got = append(got, plain(one))
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("%q\nwant %q", got, test.want)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	const (
		line   = "want METHOD URL, such as GET http://host/path"
		inHead = "want NAME: VALUE, @FILE with the body, or an empty line before the next target"
	)
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                {"", []string{"f:1:1: no targets: want lines such as GET http://host/path, or JSON objects with method and url"}},
		"comments":               {"# x\n\n", []string{"f:1:1: no targets: want lines such as GET http://host/path, or JSON objects with method and url"}},
		"no method":              {"http://a/", []string{`f:1:1: "http://a/": ` + line}},
		"lower case":             {"\nget http://a/\nX: 1\n\nGET http://b/", []string{`f:2:1: "get http://a/": ` + line}},
		"no url":                 {"GET ", []string{`f:1:1: "GET": ` + line}},
		"no url, with fields":    {"GET\nX: 1\nnonsense", []string{`f:1:1: "GET": ` + line, `f:3:1: "nonsense": ` + inHead}},
		"all at once":            {"GET http://a/\nbad\n: x\nX:\nä: 1\n@gone\n\n  junk\nmore junk\n\n#weight: 0\nGET http://b/", []string{`f:2:1: "bad": ` + inHead, `f:3:1: header "": want the name of an HTTP header`, "f:4:1: header X: want a value", `f:5:1: header "ä": want the name of an HTTP header`, "f:6:2: body: open gone: no such file or directory", `f:8:3: "junk": ` + line, `f:11:1: weight "0": want a whole number from 1 to 1000`}},
		"control":                {"GET http://a/\nX: ä\x01", []string{"f:2:5: header X: its value holds a control character: want none"}},
		"weight of nothing":      {"GET http://a/\n\n# weight: 5\n", []string{"f:3:1: a weight without a target: want it above the target's method and URL"}},
		"weight too large":       {"# weight: 1001\nGET http://a/", []string{`f:1:1: weight "1001": want a whole number from 1 to 1000`}},
		"weight of a word":       {"# weight: heavy\nGET http://a/", []string{`f:1:1: weight "heavy": want a whole number from 1 to 1000`}},
		"json, cut":              {`{"method":"GET"`, []string{"f:1:16: not JSON: the line ends within an object"}},
		"json, not":              {`{"method":GET}`, []string{"f:1:11: not JSON: invalid character 'G' looking for beginning of value"}},
		"json, two":              {`{"url":"http://a/"} {}`, []string{"f:1:21: something follows the object: want one object a line"}},
		"json, junk after":       {`{"url":"http://a/"}]`, []string{"f:1:20: something follows the object: want one object a line"}},
		"json, no url":           {`{"method":"GET"}`, []string{"f:1:1: no url: want one"}},
		"json, a list":           {"{\"url\":\"http://a/\"}\n[1]", []string{"f:2:1: a list: want an object with method and url"}},
		"json, unknown":          {`{"url":"http://a/","headers":{}}`, []string{`f:1:20: unknown key "headers": want one of method, url, header, body, weight, $schema`}},
		"json, twice":            {`{"url":"http://a/","url":"http://b/"}`, []string{"f:1:20: url comes twice: want it once"}},
		"json, method":           {`{"url":"http://a/","method":"get"}`, []string{`f:1:29: method "get": want upper case letters, such as "GET"`}},
		"json, kinds":            {`{"url":1,"method":[1,{"a":2}],"body":{},"weight":"3","header":["x"]}`, []string{`f:1:8: url 1: want a text such as "http://host/path"`, `f:1:19: method a list: want upper case letters, such as "GET"`, "f:1:38: body: want a text in base64", `f:1:50: weight "3": want a whole number from 1 to 1000`, `f:1:63: header a list: want an object with lists of texts, such as {"Accept": ["text/plain"]}`}},
		"json, header":           {`{"url":"http://a/","header":{"a b":["1"],"c":"d","e":[1,"\n"]}}`, []string{`f:1:30: header "a b": want the name of an HTTP header`, `f:1:46: header "c" is "d": want a list of texts`, `f:1:55: header "e" has 1: want texts`, `f:1:57: header "e": its value holds a control character: want none`}},
		"json, body":             {`{"url":"http://a/","body":"%"}`, []string{"f:1:27: body: want a text in base64"}},
		"json, weights":          {"{\"url\":\"http://a/\",\"weight\":0}\n{\"url\":\"http://a/\",\"weight\":1.5}", []string{"f:1:29: weight 0: want a whole number from 1 to 1000", "f:2:29: weight 1.5: want a whole number from 1 to 1000"}},
		"json, then http format": {"{\"url\":\"http://a/\"}\nGET http://b/", []string{"f:2:1: not JSON: invalid character 'G' looking for beginning of value"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("f", []byte(test.text), files)
			if err == nil {
				t.Fatal("want an error")
			}
			if got := strings.Split(err.Error(), "\n"); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	all, err := Read("f", []byte("\n  PUT \t http://a/\n X:  ä1\n @new.json"), files)
	if err != nil {
		t.Fatal(err)
	}
	if one := all[0]; one.At != (Place{2, 9}) || one.Fields[0].At != (Place{3, 6}) || one.BodyAt != (Place{4, 2}) {
		t.Errorf("URL at %v, value at %v, body at %v: want 2:9, 3:6 and 4:2", one.At, one.Fields[0].At, one.BodyAt)
	}
	all, err = Read("f", []byte(`{"url": "http://a/", "header": {"X": ["1"]}, "body": "aGk="}`), files)
	if err != nil {
		t.Fatal(err)
	}
	if one := all[0]; one.At != (Place{1, 10}) || one.Fields[0].At != (Place{1, 40}) || one.BodyAt != (Place{1, 54}) {
		t.Errorf("URL at %v, value at %v, body at %v: want 1:10, 1:40 and 1:54", one.At, one.Fields[0].At, one.BodyAt)
	}
}

// A file with many mistakes does not fill the screen.
func TestErrorsAreBounded(t *testing.T) {
	_, err := Read("f", []byte(strings.Repeat("x\n\n", 1000)), files)
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != mostShown+1 || lines[mostShown] != "f: and 980 errors more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// Each file with a body is read once, however many targets have it.
func TestBodiesAreShared(t *testing.T) {
	read := 0
	all, err := Read("f", []byte(strings.Repeat("PUT http://a/\n@body\n\n", 3)), func(string) ([]byte, error) {
		read++
		return []byte("x"), nil
	})
	if err != nil || read != 1 || &all[0].Body[0] != &all[2].Body[0] {
		t.Errorf("read %d times, error %v: want once", read, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("# weight: 3\nGET http://a/\nX: 1\n@new.json\n\nPOST http://b/")
	f.Add(`{"$schema":{"x":[1]},"method":"POST","url":"http://a/","body":"aGk=","header":{"X":["1","2"]},"weight":4}`)
	f.Add("{\"url\":[{}],\n")
	f.Add("GET x\n\xff:\xff\n@\n@@")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Read("f", []byte(text), files)
		var wrong *Errors
		if err != nil {
			if !errors.As(err, &wrong) {
				t.Fatalf("%T", err)
			}
			for _, e := range wrong.All {
				lines := strings.Split(text, "\n")
				if e.At.Line < 1 || e.At.Line > len(lines) || e.At.Column < 1 || e.At.Column > len(lines[e.At.Line-1])+1 {
					t.Errorf("%v is no place: %s", e.At, e.What)
				}
			}
			return
		}
		if len(all) == 0 {
			t.Error("no targets and no error")
		}
		for _, one := range all {
			if one.URL == "" || one.Method != "" && !isMethod(one.Method) || one.Weight < 1 || one.Weight > MaxWeight {
				t.Errorf("%+v is no target", one)
			}
			for _, field := range one.Fields {
				if !isToken(field.Name) || control(field.Value) >= 0 {
					t.Errorf("%+v is no field", field)
				}
			}
		}
	})
}
