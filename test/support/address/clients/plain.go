// A workload that logs in and renews by net/http alone; its settings are in the environment, a line tells each request.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

type answer struct {
	Auth struct {
		Token string `json:"client_token"`
	} `json:"auth"`
}

func seconds(name string) time.Duration {
	number, _ := strconv.ParseFloat(os.Getenv(name), 64)
	return time.Duration(number * float64(time.Second))
}

func tell(op string, failure error, first bool) {
	text := ""
	if failure != nil {
		text = failure.Error()
	}
	line, _ := json.Marshal(map[string]any{"op": op, "error": text, "first": first})
	fmt.Println(string(line))
}

func main() {
	address, proof := os.Getenv("ADDRESS"), os.Getenv("LOGIN")
	client := &http.Client{Timeout: seconds("TIMEOUT")}
	ask := func(path, token, body string) (string, int, error) {
		request, _ := http.NewRequest("POST", address+"/v1/"+path, bytes.NewBufferString(body))
		request.Header.Set("X-Vault-Token", token)
		response, failure := client.Do(request)
		if failure != nil {
			return "", 0, failure
		}
		defer response.Body.Close()
		text, failure := io.ReadAll(response.Body)
		if failure == nil && response.StatusCode >= 400 {
			failure = fmt.Errorf("HTTP %d", response.StatusCode)
		}
		var read answer
		json.Unmarshal(text, &read)
		return read.Auth.Token, response.StatusCode, failure
	}
	age, born := seconds("MAX_AGE"), time.Now()
	token, first := "", true
	for {
		if age > 0 && time.Since(born) > age {
			client.CloseIdleConnections()
			born = time.Now()
		}
		if token != "" {
			_, status, failure := ask("auth/token/renew-self", token, "{}")
			tell("renew", failure, first)
			if status == 403 {
				token, first = "", false
			}
		}
		another, _, failure := ask("auth/cloud/login", "", proof)
		tell("login", failure, first)
		if token == "" {
			token = another
		}
		time.Sleep(seconds("PAUSE"))
	}
}
