#!/usr/bin/env bash
# A worker over HTTP: it runs tasks of type GREET. docs/workers.md tells why each step is as it is.
# ROWRUN_URL=http://127.0.0.1:8484 ROWRUN_WORKER_TOKEN=… ./worker.sh   wants curl 7.82 or later, and jq
set -euo pipefail
name=$(hostname)-$$ lease=60
trap 'stopping=1' TERM INT

# A run comes in as JSON, its result goes out; what is written to standard error is why it failed.
greet() { jq -c '{text: ("hello " + (.payload.name // "you"))}'; }

# ask WHAT BODY sends it until it is answered: the same request has the same answer. curl heeds Retry-After; what is
# refused (4xx) ends the program. The token stands in no list of processes.
ask() {
	curl -sS --fail-with-body --max-time 40 --retry 1000 --retry-connrefused --retry-max-time 0 --json "$2" \
		-H @<(printf 'Authorization: Bearer %s\n' "$ROWRUN_WORKER_TOKEN") "$ROWRUN_URL/api/v1/worker/$1"
}

while [ -z "${stopping:-}" ]; do
	request=$(cat /proc/sys/kernel/random/uuid) runs='[]'
	while [ "$runs" = '[]' ] && [ -z "${stopping:-}" ]; do # the same id is asked again until it has brought something
		runs=$(ask claim "$(jq -nc '$ARGS.named + {types: ["GREET"], max: 1, wait: 5}' \
			--arg request_id "$request" --arg worker "$name" --argjson lease "$lease")")
	done
	[ "$runs" != '[]' ] || break
	claim=$(jq -r '.[0].claim' <<<"$runs")
	while ! read -rt $((lease / 3)) <> <(:); do # a sleep that ends with the loop; LOST and CANCELED could stop the work here
		ask heartbeat "$(jq -nc '{worker: $name, claims: [$claim]}' --arg name "$name" --arg claim "$claim")" >/dev/null
	done &
	beats=$!
	if result=$(jq -c '.[0]' <<<"$runs" | greet 2>"/tmp/worker.$$"); then
		entry=$(jq -nc '{status: "DONE", result: $result}' --argjson result "$result")
	else
		entry=$(jq -nc '{status: "FAILED", detail: $detail}' --rawfile detail "/tmp/worker.$$")
	fi
	kill "$beats"
	ask finish "$(jq -nc '{request_id: $id, worker: $name, results: [$entry + {claim: $claim}]}' --arg claim "$claim" \
		--arg id "$(cat /proc/sys/kernel/random/uuid)" --arg name "$name" --argjson entry "$entry")" >/dev/null
done
rm -f "/tmp/worker.$$"
