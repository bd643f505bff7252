#!/usr/bin/env bash
# From a tenant token to a sold pair of seats, one call after the other.
#
#   FRONTROW_TENANT_TOKEN=a-token-of-your-own frontrow serve --data ./my-data &
#   FRONTROW_TENANT_TOKEN=a-token-of-your-own server/examples/walk.sh
#
# FRONTROW_URL names another server than http://127.0.0.1:8080.
set -euo pipefail

url=${FRONTROW_URL:-http://127.0.0.1:8080}
: "${FRONTROW_TENANT_TOKEN:?set it to the tenant token of the server}"
api=$url/api/private/v2.0
here=$(cd "$(dirname "$0")" && pwd)

# Sends a request with a JSON body: call METHOD URL KEY < body. A refusal ends the walk and is shown.
call() {
  curl --silent --show-error --fail-with-body --request "$1" "$2" \
    --header "X-API-Key: $3" --header 'Content-Type: application/json' \
    --header 'Prefer: handling=strict' --data-binary @-
}

# Prints one member of a JSON document: field '.seats[0].id' < document
field() {
  node -pe "JSON.parse(fs.readFileSync(0, 'utf8'))$1"
}

# The tenant creates an organization. Its secret key is the key of everything that follows.
organization=$(call POST "$url/api/private/management/v2.0/organizations/" "$FRONTROW_TENANT_TOKEN" <<JSON
{ "name": "Lakeside $(date +%s%N)", "email": "ann@lakeside.example", "firstName": "Ann",
  "lastName": "Lee", "password": "a long password" }
JSON
)
key=$(field .secretKey <<< "$organization")
echo "organization $(field .id <<< "$organization")"

# A venue has schemas; a schema has a layout: sections, rows, seats, standing areas.
venue=$(call POST "$api/venues/" "$key" <<< '{ "name": "Lakeside Arena" }' | field .id)
schema=$(call POST "$api/schemas/" "$key" <<< "{ \"name\": \"Concert\", \"venueId\": $venue }" | field .id)
layout=$(gunzip --stdout "$here/arena.json.gz" | call PUT "$api/schemas/$schema/layout" "$key")
echo "schema $schema: $(field .seats.length <<< "$layout") seats"

# An event uses the schema. A seat is on sale once it has a price.
event=$(call POST "$api/events/" "$key" <<JSON | field .id
{ "name": "Opening night", "schemaId": $schema,
  "start": "2030-05-01T20:00:00", "endDate": "2030-05-01T23:00:00" }
JSON
)
price=$(call POST "$api/event/$event/prices/" "$key" <<< "[{ \"name\": \"Full\", \"eventId\": \"$event\" }]" | field '[0].id')
groups=$(field ".sectors.map(({ id }) => JSON.stringify({ objectId: id, assignmentId: $price })).join()" <<< "$layout")
call POST "$api/event/$event/prices/assignments/" "$key" <<< "{ \"groupOfSeats\": [$groups] }" > /dev/null
echo "event $event"

# A buyer locks two seats and pays for them. The same session must do both.
first=$(field '.seats[0].id' <<< "$layout")
second=$(field '.seats[1].id' <<< "$layout")
pair="{ \"sessionId\": \"buyer-1\", \"seats\": [{ \"id\": $first }, { \"id\": $second }] }"
echo "lock: $(call POST "$api/booking/lock?eventId=$event" "$key" <<< "$pair")"
echo "sale: $(call POST "$api/booking/sale?eventId=$event" "$key" <<< "$pair")"

# The listing shows both as sold, the latest change first.
seats=$(curl --silent --show-error --fail-with-body --header "X-API-Key: $key" \
  "$api/events/$event/seats/?size=2&sort=updatedAt,desc")
echo "seats: $(field ".content.map(({ seatId, state }) => seatId + ' ' + state).join(', ')" <<< "$seats")"
