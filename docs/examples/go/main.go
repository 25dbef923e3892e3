// Logs in to cloud-auth with the AWS credentials of this process, and renews the token once.
//
//	BASE=https://auth.example.com/v1 ROLE=shop [MOUNT=cloud] go run .
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
)

const (
	stsURL  = "https://sts.amazonaws.com/"
	stsBody = "Action=GetCallerIdentity&Version=2011-06-15"
)

type auth struct {
	ClientToken   string   `json:"client_token"`
	Policies      []string `json:"policies"`
	LeaseDuration int      `json:"lease_duration"`
}

var client = &http.Client{Timeout: 15 * time.Second}

func post(path, token string, body any) (auth, error) {
	var answer struct {
		Auth   auth     `json:"auth"`
		Errors []string `json:"errors"`
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return auth{}, err
	}
	request, err := http.NewRequest(http.MethodPost, os.Getenv("BASE")+"/"+path, bytes.NewReader(sent))
	if err != nil {
		return auth{}, err
	}
	if token != "" {
		request.Header.Set("X-Vault-Token", token)
	}
	response, err := client.Do(request)
	if err != nil {
		return auth{}, err
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return auth{}, err
	}
	if err := json.Unmarshal(received, &answer); err != nil {
		return auth{}, err
	}
	if response.StatusCode != http.StatusOK {
		return auth{}, fmt.Errorf("%s: %d %s", path, response.StatusCode, strings.Join(answer.Errors, "; "))
	}
	return answer.Auth, nil
}

// login signs a request for STS, and sends the signed request to cloud-auth.
func login(ctx context.Context) (auth, error) {
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return auth{}, err
	}
	credentials, err := settings.Credentials.Retrieve(ctx)
	if err != nil {
		return auth{}, err
	}
	request, err := http.NewRequest(http.MethodPost, stsURL, strings.NewReader(stsBody))
	if err != nil {
		return auth{}, err
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(stsBody)))
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hash, "sts", "us-east-1", time.Now()); err != nil {
		return auth{}, err
	}
	headers := request.Header.Clone()
	headers.Set("Host", request.URL.Host)
	text, err := json.Marshal(headers)
	if err != nil {
		return auth{}, err
	}
	mount := os.Getenv("MOUNT")
	if mount == "" {
		mount = "cloud"
	}
	encode := base64.StdEncoding.EncodeToString
	return post("auth/"+mount+"/login", "", map[string]string{
		"role":                    os.Getenv("ROLE"),
		"iam_http_request_method": http.MethodPost,
		"iam_request_url":         encode([]byte(stsURL)),
		"iam_request_body":        encode([]byte(stsBody)),
		"iam_request_headers":     encode(text),
	})
}

func main() {
	first, err := login(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	// a long-running program renews at two thirds of the lifetime, and logs in again when a renewal fails
	renewed, err := post("auth/token/renew-self", first.ClientToken, map[string]string{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("logged in for %d s with %v, renewed for %d s\n", first.LeaseDuration, first.Policies, renewed.LeaseDuration)
}
