#!/usr/bin/env bash
# Sends writes by curl: one JSON object with `path`, `token` and `body` in each line of the input, one answer in each line of the output.
while IFS= read -r asked; do
  path=$(jq -r '.path | split("/") | map(@uri) | join("/")' <<<"$asked")
  answer=$(curl -sS --path-as-is -X POST -H "X-Vault-Token: $(jq -r .token <<<"$asked")" \
    -d "$(jq -c .body <<<"$asked")" "$ADDRESS/v1/$path" 2>&1)
  echo "${answer:-{\}}"
done
