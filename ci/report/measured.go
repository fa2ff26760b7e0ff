package report

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"knee/analysis"
	"knee/analysis/knee"
)

// CurveJSON writes the judgement of a curve as indented JSON, by the rules of
// JSON.
func CurveJSON(w io.Writer, c *analysis.CurveResult) error {
	v, err := finite(reflect.ValueOf(*c), "")
	if err != nil {
		return fmt.Errorf("writing the curve's result as JSON: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v.Interface()); err != nil {
		return fmt.Errorf("writing the curve's result as JSON: %w", err)
	}
	return nil
}

// CurveText writes the judgement of a curve for a terminal: the curve, and a
// sentence for each answer.
func CurveText(w io.Writer, c *analysis.CurveResult, points []knee.Point, o Options) error {
	var loads []load
	for _, l := range knee.Loads(points, knee.Options{}) {
		loads = append(loads, load{intended: l.Rate, offered: l.Rate, goodput: l.Goodput, trials: 1})
	}
	var lines []string
	if drawn := curve(loads, c.Knee, o); drawn != nil {
		lines = append(lines, append(drawn, "")...)
	}
	r := &analysis.Result{Knee: c.Knee, Plateau: c.Plateau}
	for _, answer := range []struct{ topic, verdict, sentence string }{
		{"knee", c.Knee.Verdict, kneeSentence(c.Knee)},
		{"plateau", c.Plateau.Verdict, plateauSentence(r, nil)},
	} {
		line := wrap(answer.topic+": "+answer.sentence, o.width(), 2)
		lines = append(lines, o.paint(verdictColor(answer.verdict), answer.topic)+strings.TrimPrefix(line, answer.topic))
	}
	for _, warning := range c.Warnings {
		lines = append(lines, wrap("warning: "+warning, o.width(), 2))
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}
