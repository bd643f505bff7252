/**
 * Every row of the documented interface, with the statuses that the documents give a condition for.
 * It is written from the documents, not from the route table. The tests must produce each status at
 * least once, and every answer that they get must match the OpenAPI document.
 */

export interface ContractRow {
  /** Method and path, as in the route table. */
  readonly row: string;
  readonly statuses: readonly number[];
}

const V2 = "/api/private/v2.0";
const V1 = "/api/private/v1.0";
const MANAGEMENT = "/api/private/management/v2.0";

const LIST = "200 400 403";
const READ = "200 400 403 404";
const CHANGE = "200 400 403 404";

/** One row per line: method, path, statuses. */
const TABLE = `
POST ${V2}/booking/lock 200 400 402 403 422
POST ${V2}/booking/unlock 200 400 402 403
POST ${V2}/booking/sale 200 400 402 403 422
POST ${V2}/booking/revertsale 200 400 402 403
POST ${V2}/booking/directsale 200 400 402 403 422
POST ${V2}/booking/block 200 400 402 403
POST ${V2}/booking/unblock 200 400 402 403
POST ${V2}/booking/best 200 400 402 403 409 422
POST ${V2}/booking/cart 200 400 402 403 409 422
POST ${V2}/booking/check 200 400 402 403 409 422
POST ${V2}/booking/extend 200 400 402 403 422
GET ${V2}/booking/socket 101 400 403
POST ${V2}/events/ 201 400 403
GET ${V2}/events/{id} ${READ}
GET ${V2}/events/ ${LIST}
PUT ${V2}/events/ ${CHANGE} 409
DELETE ${V2}/events/{id} 204 400 403 404 409
GET ${V2}/events/{id}/seats/ ${READ}
GET ${V2}/events/{id}/areas/ ${READ}
GET ${V2}/events/{id}/summary/ ${READ}
GET ${V2}/events/{id}/holds/ ${READ}
GET ${V2}/events/{id}/audit/ ${READ}
GET ${V2}/events/{id}/map/ ${READ}
GET ${V2}/events/{id}/changes/ ${READ} 410
POST ${V2}/events/{id}/stream-tickets 201 400 403 404
POST ${V2}/events/{id}/clone 201 400 403 404
POST ${V2}/events/{id}/status ${CHANGE} 409
PUT ${V2}/events/{id}/rules ${CHANGE}
GET ${V2}/events/{id}/rules ${READ}
PUT ${V2}/events/{id}/series ${CHANGE}
PUT ${V2}/events/{id}/channels/{key} 200 201 400 403 404 409
GET ${V2}/events/{id}/channels/ ${READ}
DELETE ${V2}/events/{id}/channels/{key} 204 400 403 404
PUT ${V2}/events/{id}/admission 200 201 400 403 404 409
GET ${V2}/events/{id}/admission ${READ}
DELETE ${V2}/events/{id}/admission 204 400 403 404
POST ${V2}/events/{id}/admission/visitors 200 201 400 403 404 429
GET ${V2}/events/{id}/admission/visitors/{visitor} ${READ}
POST ${V2}/events/{id}/admission/visitors/{visitor}/enter ${CHANGE} 409
DELETE ${V2}/events/{id}/admission/visitors/{visitor} 204 400 403 404
GET /door/{eventId} 200 304 400 404 429
GET /door/{eventId}/status 200 304 400 404 429
GET /door/{eventId}/entries 200 304 400 404 409 429
GET /door/{eventId}/visitors/{visitor} 200 400 404 429
POST /door/{eventId}/visitors/{visitor}/enter 200 400 404 409 429
DELETE /door/{eventId}/visitors/{visitor} 204 400 404 429
POST ${V2}/series/ 201 400 403
GET ${V2}/series/ ${LIST}
DELETE ${V2}/series/{id} 204 400 403 404
POST ${V2}/webhooks/ 201 400 403
GET ${V2}/webhooks/ ${LIST}
PUT ${V2}/webhooks/ ${CHANGE}
GET ${V2}/webhooks/{id} ${READ}
DELETE ${V2}/webhooks/{id} 204 400 403 404
POST ${V2}/webhooks/{id}/rotate ${CHANGE}
POST ${V2}/webhooks/{id}/retry 202 400 403 404
POST ${V2}/webhooks/{id}/test 200 400 403 404 429
GET ${V2}/webhooks/{id}/deliveries/ ${READ}
POST ${V2}/event/{eventId}/prices/assignments/ 200 400 403 409
GET ${V2}/event/{eventId}/prices/{id} ${READ}
GET ${V2}/event/{eventId}/prices/ ${LIST}
POST ${V2}/event/{eventId}/prices/ 201 400 403
PUT ${V2}/event/{eventId}/prices/ ${CHANGE}
DELETE ${V2}/event/{eventId}/prices/{id} 204 400 403 404 409
POST ${V2}/schemas/{schemaId}/pricing_zones/ 201 400 403
POST ${V2}/schemas/{schemaId}/pricing_zones/assignments/ 200 400 403
DELETE ${V2}/schemas/{schemaId}/pricing_zones/{id} 204 400 403 404
GET ${V2}/schemas/{schemaId}/pricing_zones/ ${LIST}
GET ${V2}/schemas/{schemaId}/pricing_zones/{id} ${READ}
PUT ${V2}/schemas/{schemaId}/pricing_zones/ ${CHANGE}
POST ${V2}/schemas/ 201 400 403
GET ${V2}/schemas/ ${LIST}
GET ${V2}/schemas/{id} ${READ}
PUT ${V2}/schemas/ ${CHANGE}
DELETE ${V2}/schemas/{id} 204 400 403 404 409
POST ${V2}/schemas/clone/{id} ${READ}
GET ${V2}/schemas/clone/{id} ${READ}
GET ${V2}/schemas/{schemaId}/seatmaps/ ${READ}
GET ${V2}/schemas/{id}/layout ${READ}
PUT ${V2}/schemas/{id}/layout ${CHANGE} 409 412
GET /api/seatmap/{id}/ ${READ}
PUT /api/seatmap/{id}/ ${CHANGE} 409 412
POST ${V2}/venues/ 201 400 403
GET ${V2}/venues/ ${LIST}
PUT ${V2}/venues/ ${CHANGE}
GET ${V2}/venues/{id} ${READ}
DELETE ${V2}/venues/{id} 204 400 403 404 409
POST ${V2}/keys/rotate 200 400 403
POST ${MANAGEMENT}/organizations/ 201 400 403 409
GET ${MANAGEMENT}/organizations/{id} ${READ}
GET ${MANAGEMENT}/organizations/ ${LIST}
PUT ${MANAGEMENT}/organizations/ ${CHANGE} 409
DELETE ${MANAGEMENT}/organizations/{id} 204 400 403 404
GET ${MANAGEMENT}/organizations/{id}/settings ${READ}
PUT ${MANAGEMENT}/organizations/{id}/settings ${CHANGE}
GET ${MANAGEMENT}/session-config/ ${LIST}
PUT ${MANAGEMENT}/session-config/ 200 400 403
GET ${MANAGEMENT}/hold-types/ ${LIST}
PUT ${MANAGEMENT}/hold-types/ 200 400 403
POST ${MANAGEMENT}/keys/rotate 200 400 403
POST ${V1}/booking/lock ${LIST}
POST ${V1}/booking/sale ${LIST}
POST ${V1}/booking/unlock ${LIST}
GET ${V1}/events/ ${LIST}
POST ${V1}/events/ ${LIST}
PUT ${V1}/events/ ${LIST}
DELETE ${V1}/events/{id} ${LIST}
POST ${V1}/assignments/ ${LIST}
POST ${V1}/assignments/clean ${LIST}
DELETE ${V1}/assignments/ ${LIST}
GET ${V1}/prices/ ${LIST}
POST ${V1}/prices/ ${LIST} 409
PUT ${V1}/prices/ ${LIST} 404 409
DELETE ${V1}/prices/ ${LIST} 409
GET ${V1}/venues/schemas/ ${LIST}
GET ${V1}/venues/schemas/{schemaId}/details/ ${LIST}
GET ${V1}/venues/schemas/{schemaId}/ ${LIST}
POST /api/auth/login 200 400 401 429
POST /api/auth/refresh 200 400 401
POST /api/auth/logout 204 400 401
GET /api/auth/user/ 200 401
POST /api/admin/tenants/ 201 400 403 409
GET /api/admin/tenants/ 200 403
GET /api/admin/organizations/{id}/move 200 400 403
POST /api/admin/organizations/{id}/move 200 400 403 404 409
GET /api/admin/organizations/{id}/move/parts/{part} 200 400 403 404 409
PUT /api/admin/organizations/{id}/move/parts/{part} 200 400 403 409
GET /healthz 200
GET /readyz 200 503
GET /metrics 200
GET /openapi.json 200
GET /asyncapi.json 200
GET /docs 200
GET /docs/reference 200
GET /docs/errors/ 200
GET / 302
`;

export const CONTRACT: readonly ContractRow[] = TABLE.trim()
  .split("\n")
  .map((line) => {
    const [method, path, ...statuses] = line.split(" ");
    return { row: `${method} ${path}`, statuses: statuses.map(Number) };
  });
