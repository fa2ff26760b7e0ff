package virtual

import "knee/generator/client"

// Where says how far an attempt gets.
type Where uint8

// The transport breaks nowhere, before the server has seen the attempt, or when
// the answer is on its way back.
const (
	Nowhere Where = iota
	Sending
	Answering
)

// A Failure is how the transport treats one attempt.
type Failure struct {
	Where  Where
	Answer client.Answer // what the client gets in place of the server's answer
}
