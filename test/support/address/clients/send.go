// Sends writes by github.com/hashicorp/vault/api: one JSON object with `path`, `token` and `body` in each line of the input, one
// answer in each line of the output.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/vault/api"
)

func main() {
	config := api.DefaultConfig()
	config.Address = os.Getenv("ADDRESS")
	client, failure := api.NewClient(config)
	if failure != nil {
		panic(failure)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var asked struct {
			Path  string
			Token string
			Body  map[string]any
		}
		if failure := json.Unmarshal(lines.Bytes(), &asked); failure != nil {
			panic(failure)
		}
		client.SetToken(asked.Token)
		secret, failure := client.Logical().Write(asked.Path, asked.Body)
		answer := map[string]any{}
		var refused *api.ResponseError
		if errors.As(failure, &refused) {
			answer["errors"] = refused.Errors
		} else if failure != nil {
			panic(failure)
		} else if secret != nil {
			answer["data"], answer["auth"] = secret.Data, secret.Auth
		}
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
}
