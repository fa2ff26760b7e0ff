package live

import (
	"net/http"
	"strings"
	"testing"

	"knee/generator/client"
)

func TestRules(t *testing.T) {
	h := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	for name, test := range map[string]struct {
		success, reject string // rules, separated by |
		status          int
		header          http.Header
		body            string
		want            client.Answer
	}{
		"200":                        {status: 200},
		"299":                        {status: 299},
		"degraded":                   {status: 200, header: h("Knee-Degraded", "1"), want: client.Answer{Degraded: true}},
		"301":                        {status: 301, want: client.Answer{Result: client.Failed, Reason: "status_301"}},
		"404":                        {status: 404, want: client.Answer{Result: client.Failed, Reason: "status_404"}},
		"500 with a reason":          {status: 500, header: h("Knee-Reason", "x"), want: client.Answer{Result: client.Failed, Reason: "status_500"}},
		"429":                        {status: 429, want: client.Answer{Result: client.Rejected, Reason: "status_429"}},
		"503":                        {status: 503, want: client.Answer{Result: client.Rejected, Reason: "status_503"}},
		"503 with a reason":          {status: 503, header: h("Knee-Reason", "queue_full"), want: client.Answer{Result: client.Rejected, Reason: "queue_full"}},
		"reject a status":            {reject: "status=520-529,404", status: 522, want: client.Answer{Result: client.Rejected, Reason: "status_522"}},
		"reject one more status":     {reject: "status=520-529,404 -> gone", status: 404, want: client.Answer{Result: client.Rejected, Reason: "gone"}},
		"reject another status":      {reject: "status=520-529", status: 519, want: client.Answer{Result: client.Failed, Reason: "status_519"}},
		"reject by header":           {reject: "header:x-shed=full -> full", status: 200, header: h("X-Shed", "full"), want: client.Answer{Result: client.Rejected, Reason: "full"}},
		"reject by another header":   {reject: "header:x-shed=full", status: 200, header: h("X-Shed", "fuller")},
		"reject by header there":     {reject: "header:X-Shed", status: 200, header: h("X-Shed", ""), want: client.Answer{Result: client.Rejected, Reason: "header_rule"}},
		"reject by start of body":    {reject: "body^=error", status: 200, body: "error: busy", want: client.Answer{Result: client.Rejected, Reason: "body_rule"}},
		"reject not by its middle":   {reject: "body^=busy", status: 200, body: "error: busy"},
		"first of two rules":         {reject: "status=5xx -> five|status=503 -> three", status: 503, want: client.Answer{Result: client.Rejected, Reason: "five"}},
		"success by body":            {success: "body~=ok:true", status: 200, body: `x ok:true y`},
		"no success by body":         {success: "body~=ok:true", status: 200, body: `ok:false`, want: client.Answer{Result: client.Rejected, Reason: "body_rule"}},
		"body rule spares no status": {success: "body~=ok:true", status: 500, body: `ok:true`, want: client.Answer{Result: client.Failed, Reason: "status_500"}},
		"success by status":          {success: "status=404", status: 404},
		"no success by status":       {success: "status=404", status: 200, want: client.Answer{Result: client.Failed, Reason: "status_200"}},
		"either status":              {success: "status=404|status=200", status: 200},
		"grpc ok":                    {status: 200, header: h("Grpc-Status", "0")},
		"grpc decides":               {status: 200, header: h("Grpc-Status", "13"), want: client.Answer{Result: client.Failed, Reason: "grpc_internal"}},
		"grpc exhausted":             {status: 200, header: h("Grpc-Status", "8"), want: client.Answer{Result: client.Rejected, Reason: "grpc_resource_exhausted"}},
		"grpc unavailable":           {status: 200, header: h("Grpc-Status", "14"), want: client.Answer{Result: client.Rejected, Reason: "grpc_unavailable"}},
		"grpc with words":            {status: 200, header: h("Grpc-Status", "8", "Grpc-Message", "shed: queue_full"), want: client.Answer{Result: client.Rejected, Reason: "shed:_queue_full"}},
		"grpc with an identifier":    {status: 200, header: h("Grpc-Status", "8", "Grpc-Message", "no quota for u17"), want: client.Answer{Result: client.Rejected, Reason: "grpc_resource_exhausted"}},
		"grpc with a reason":         {status: 200, header: h("Grpc-Status", "14", "Grpc-Message", "busy", "Knee-Reason", "full"), want: client.Answer{Result: client.Rejected, Reason: "full"}},
		"grpc unheard of":            {status: 200, header: h("Grpc-Status", "99"), want: client.Answer{Result: client.Failed, Reason: "grpc_99"}},
		"reject by grpc code":        {reject: "grpc=5,13", status: 200, header: h("Grpc-Status", "13"), want: client.Answer{Result: client.Rejected, Reason: "grpc_internal"}},
		"reject by grpc name":        {reject: "grpc=Not_Found -> gone", status: 200, header: h("Grpc-Status", "5"), want: client.Answer{Result: client.Rejected, Reason: "gone"}},
		"reject another grpc code":   {reject: "grpc=5", status: 200, header: h("Grpc-Status", "13"), want: client.Answer{Result: client.Failed, Reason: "grpc_internal"}},
		"success by grpc code":       {success: "grpc=0,5", status: 200, header: h("Grpc-Status", "5")},
		"no success by grpc code":    {success: "grpc=5", status: 200, header: h("Grpc-Status", "0"), want: client.Answer{Result: client.Failed, Reason: "grpc_ok"}},
		"status says nothing of it":  {success: "status=404", status: 200, header: h("Grpc-Status", "0")},
		"grpc says nothing of http":  {success: "grpc=5", status: 200},
		"arrow in the text":          {reject: "body~=a->b -> r", status: 200, body: "a->b", want: client.Answer{Result: client.Rejected, Reason: "r"}},
	} {
		t.Run(name, func(t *testing.T) {
			rules := Rules{Success: parseRules(t, test.success), Reject: parseRules(t, test.reject)}
			if got := rules.judge(test.status, httpFields(test.header), []byte(test.body), new(interned)); got != test.want {
				t.Errorf("%+v: want %+v", got, test.want)
			}
			if looks := rules.look() > 0; looks != strings.Contains(test.success+test.reject, "body") {
				t.Errorf("keeps the body: %v", looks)
			}
		})
	}
}

func parseRules(t *testing.T, list string) []Rule {
	t.Helper()
	var rules []Rule
	for text := range strings.SplitSeq(list, "|") {
		if text == "" {
			continue
		}
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return rules
}

func TestParseRuleRefuses(t *testing.T) {
	const form = "want status=CODES, grpc=STATUSES, header:NAME, header:NAME=VALUE, body^=TEXT or body~=TEXT, then optionally -> REASON"
	const codes = "want codes from 100 to 599 such as 503, 5xx or 500-504, joined by commas"
	for text, want := range map[string]string{
		"":                   `rule "": ` + form,
		"503":                `rule "503": ` + form,
		"statu=503":          `rule "statu=503": ` + form,
		"status=":            `rule "status=": status "": ` + codes,
		"status=99":          `rule "status=99": status "99": ` + codes,
		"status=600":         `rule "status=600": status "600": ` + codes,
		"status=6xx":         `rule "status=6xx": status "6xx": ` + codes,
		"status=503-500":     `rule "status=503-500": status "503-500": ` + codes,
		"status=503,":        `rule "status=503,": status "": ` + codes,
		"grpc=17":            `rule "grpc=17": grpc status "17": want codes from 0 to 16 or names such as unavailable, joined by commas`,
		"header:":            `rule "header:": header "": want the name of an HTTP header`,
		"header:a b=c":       `rule "header:a b=c": header "a b": want the name of an HTTP header`,
		"body~=":             `rule "body~=": no text: want what the body has to hold`,
		"status=503 ->":      `rule "status=503 ->": reason "": want 1 to 64 of a-z 0-9 _ . : -`,
		"status=503 -> A B":  `rule "status=503 -> A B": reason "A B": want 1 to 64 of a-z 0-9 _ . : -`,
		"body^= -> a -> b c": `rule "body^= -> a -> b c": reason "b c": want 1 to 64 of a-z 0-9 _ . : -`,
	} {
		_, err := ParseRule(text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: error %v\nwant %s", text, err, want)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	f.Add("status=503,5xx -> r")
	f.Add("header:X=y")
	f.Add("body~=ok:true")
	f.Add("grpc=8,unavailable")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err != nil {
			return
		}
		if reason := r.why(503, httpFields{}); !isReason(reason) {
			t.Errorf("%q: reason %q", text, reason)
		}
		r.holds(503, httpFields{}, nil)
	})
}
