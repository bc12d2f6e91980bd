// Serves desired endpoints, read as JSON from a file, to external-dns's source "connector".
//
//	external-dns-endpoints ADDRESS FILE
package main

import (
	"encoding/gob"
	"encoding/json"
	"log"
	"net"
	"os"

	"sigs.k8s.io/external-dns/endpoint"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		if err := send(conn, os.Args[2]); err != nil {
			log.Print(err)
		}
	}
}

func send(conn net.Conn, path string) error {
	defer conn.Close()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var wanted []*endpoint.Endpoint
	if err := json.Unmarshal(text, &wanted); err != nil {
		return err
	}
	return gob.NewEncoder(conn).Encode(wanted)
}
