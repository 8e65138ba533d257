// Reads the file named, of what a collector was sent, a request a line, as the OpenTelemetry Collector itself
// reads it, and prints each span on a line: name, trace, span, parent, kind, status, and how many attributes it has.
package main

import (
	"bufio"
	"fmt"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

func read(text []byte) error {
	request := ptraceotlp.NewExportRequest()
	if err := request.UnmarshalJSON(text); err != nil {
		return err
	}
	resources := request.Traces().ResourceSpans()
	for i := 0; i < resources.Len(); i++ {
		scopes := resources.At(i).ScopeSpans()
		for j := 0; j < scopes.Len(); j++ {
			spans := scopes.At(j).Spans()
			for k := 0; k < spans.Len(); k++ {
				span := spans.At(k)
				fmt.Printf("%s|%s|%s|%s|%s|%s|%d\n", span.Name(), span.TraceID(), span.SpanID(),
					span.ParentSpanID(), span.Kind(), span.Status().Code(), span.Attributes().Len())
			}
		}
	}
	return nil
}

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if fault := read(line); fault != nil {
				fmt.Fprintln(os.Stderr, fault)
				os.Exit(1)
			}
		}
		if err != nil {
			return
		}
	}
}
