// A workload that logs in and renews by github.com/hashicorp/vault/api; a line tells each request.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/hashicorp/vault/api"
)

func seconds(name string) time.Duration {
	number, _ := strconv.ParseFloat(os.Getenv(name), 64)
	return time.Duration(number * float64(time.Second))
}

func tell(op string, failure error, first bool) {
	text := ""
	var refused *api.ResponseError
	if errors.As(failure, &refused) {
		text = fmt.Sprintf("HTTP %d", refused.StatusCode)
	} else if failure != nil {
		text = failure.Error()
	}
	line, _ := json.Marshal(map[string]any{"op": op, "error": text, "first": first})
	fmt.Println(string(line))
}

func main() {
	config := api.DefaultConfig()
	config.Address = os.Getenv("ADDRESS")
	config.Timeout = seconds("TIMEOUT")
	client, failure := api.NewClient(config)
	if failure != nil {
		panic(failure)
	}
	var proof map[string]any
	json.Unmarshal([]byte(os.Getenv("LOGIN")), &proof)
	age, born := seconds("MAX_AGE"), time.Now()
	token, first := "", true
	for {
		if age > 0 && time.Since(born) > age {
			config.HttpClient.CloseIdleConnections()
			born = time.Now()
		}
		if token != "" {
			client.SetToken(token)
			_, failure := client.Auth().Token().RenewSelf(0)
			tell("renew", failure, first)
			var refused *api.ResponseError
			if errors.As(failure, &refused) && refused.StatusCode == 403 {
				token, first = "", false
			}
		}
		client.ClearToken()
		secret, failure := client.Logical().Write("auth/cloud/login", proof)
		tell("login", failure, first)
		if failure == nil && token == "" {
			token = secret.Auth.ClientToken
		}
		time.Sleep(seconds("PAUSE"))
	}
}
