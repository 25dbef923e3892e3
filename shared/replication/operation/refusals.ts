import { ApiError, type ErrorDetails, refused } from '../../api/errors.ts'
import type { ClusterMode } from '../../model/cluster.ts'
import type { OperationFault } from '../../model/operation.ts'

/*
 * What replication refuses, one row for each: what is wrong, and what to do next. A refusal by the gate of a DR
 * secondary stands in the table of error codes, because it is everybody's. @see docs/spec/replication.md#refusals
 */

export const recordChanging = (details: ErrorDetails): ApiError =>
  refused(
    'busy',
    'this cluster is becoming a DR secondary and serves nobody',
    'repeat this when GET sys/health answers 472',
    { retryAfter: 5, ...details },
  )

export const restoredCopy = (details: ErrorDetails): ApiError =>
  refused(
    'busy',
    'the tables of this cluster are a restored copy of those of a DR primary, and it serves nobody in that role',
    'within a minute it is a DR secondary that follows nobody; POST sys/replication/dr/secondary/disable makes an ordinary cluster of it then',
    { retryAfter: 30, ...details },
  )

export const notAPrimary = (mode: ClusterMode): ApiError =>
  refused(
    'invalid_request',
    `not a DR primary: the mode of this cluster is ${mode}`,
    'POST sys/replication/dr/primary/enable makes a cluster without replication one',
  )

export const notASecondary = (mode: ClusterMode): ApiError =>
  refused(
    'invalid_request',
    `not a DR secondary: the mode of this cluster is ${mode}`,
    'send this to a secondary, which GET sys/replication/dr/status tells apart',
  )

export const noKeyForAPrimary = (): ApiError =>
  refused(
    'invalid_request',
    'this cluster is a DR primary: its keys are made when it becomes one',
    'ask the cluster that shall become its secondary',
  )

export const idUnusable = (): ApiError =>
  refused(
    'invalid_request',
    'id must be letters, digits, "_", and "-" or "." inside, 128 at most',
    'choose another name for the secondary',
  )

export const idTaken = (id: string): ApiError =>
  refused(
    'invalid_request',
    `there is a secondary ${id} already, whether it ever came or not`,
    'revoke it by POST sys/replication/dr/primary/revoke-secondary, or choose another id',
  )

export const lifetimeUnusable = (): ApiError =>
  refused(
    'invalid_request',
    'ttl must be longer than 0 seconds, and 24 hours at most',
    'leave it out for 30 minutes',
  )

export const publicKeyUnusable = (): ApiError =>
  refused(
    'invalid_request',
    'secondary_public_key is none',
    'take it whole from POST sys/replication/dr/secondary/generate-public-key on the secondary',
  )

export const roleChanging = (): ApiError =>
  refused(
    'busy',
    'another change of the role of this cluster is under way',
    'repeat this when it has ended, which GET sys/replication/dr/status shows',
    { retryAfter: 5 },
  )

export const noTree = (mode: ClusterMode): ApiError =>
  refused(
    'invalid_request',
    `this cluster keeps no tree: its mode is ${mode}`,
    'there is one as soon as it is a DR primary or a DR secondary',
  )

export const treeNotBuilt = (): ApiError =>
  refused(
    'busy',
    'the tree is being built',
    'repeat this when GET sys/replication/dr/status shows no reindex_in_progress any more',
    { retryAfter: 10 },
  )

export const reindexRuns = (): ApiError =>
  refused(
    'invalid_request',
    'the tree is being made anew already',
    'GET sys/replication/dr/status shows how far it is',
  )

export const diffNeedsPrimary = (): ApiError =>
  refused(
    'invalid_request',
    'diff compares a secondary with the primary that it follows, and this cluster follows none',
    'leave it out',
  )

/** @param at `waits`: it waits for another cluster, and another operation may take its place */
export const operationRuns = (
  name: string,
  id: string,
  step: string,
  { position = '', waits }: { position?: string | undefined; waits: boolean },
): ApiError =>
  refused(
    'busy',
    `the operation ${id} (${name}) goes on by itself; its step is ${step}${position && `, at position ${position}`}`,
    waits
      ? 'GET sys/replication/dr/status shows what becomes of it; it waits for another cluster, and POST sys/replication/dr/secondary/update-primary, or a promotion with force, takes its place'
      : 'GET sys/replication/dr/status shows what becomes of it',
    { retryAfter: 5 },
  )

/** An operation was given up: its fault says what is wrong, and what to do next. */
export function givenUp(fault: OperationFault | undefined, retryAfter = 5): ApiError {
  const { code, text } = fault ?? unknownFault
  return code === 'invalid_request' || code === 'activation_failed'
    ? new ApiError(code, text)
    : new ApiError('busy', text, { retryAfter })
}

const unknownFault: OperationFault = {
  code: 'internal',
  text: 'the operation could not be begun; repeat this',
}

export const secondariesChanging = (): ApiError =>
  refused(
    'busy',
    'the secondaries of this cluster are being changed',
    'repeat this: nothing is revoked twice',
    { retryAfter: 1 },
  )

export const checksBegin = (): ApiError =>
  refused('busy', 'others begin checks at the same time', 'repeat this: it waits for theirs', {
    retryAfter: 1,
  })

export const addressUnusable = (name: string): ApiError =>
  refused(
    'invalid_request',
    `${name} must be an https address, such as https://east.example.com`,
    'give scheme, host and port and nothing else; an address of this machine or near it, and http, are for the embedded host alone',
  )

export const addressUnknown = (): ApiError =>
  refused(
    'invalid_request',
    'nobody knows the address of this cluster',
    'give primary_cluster_addr to sys/replication/dr/primary/enable, or set apiAddress',
  )

export const alreadyPrimary = (): ApiError =>
  refused(
    'invalid_request',
    'this cluster is a DR primary already',
    'give another primary_cluster_addr to change that alone, or make tokens for its secondaries by POST sys/replication/dr/primary/secondary-token',
  )

export const notInASet = (): ApiError =>
  refused(
    'invalid_request',
    'this cluster is in no DR set, so it has no link to others',
    'send this to a secondary, which GET sys/replication/dr/status tells apart',
  )

export const primaryInstead = (): ApiError =>
  refused(
    'invalid_request',
    'this cluster is a DR primary',
    'end its set by POST sys/replication/dr/primary/disable, if it shall really lose what it has',
  )

export const addressesNeedLink = (): ApiError =>
  refused(
    'invalid_request',
    'this cluster has no credentials for a primary, so update_primary_addrs would not help it',
    'use token: one that the primary has made by POST sys/replication/dr/primary/secondary-token',
  )

export const tokenUnusable = (): ApiError =>
  refused(
    'invalid_request',
    'token is no activation token for this cluster',
    'make one on the primary by POST sys/replication/dr/primary/secondary-token, with the newest public key of this cluster if with any',
  )

export const tokenLapsed = (): ApiError =>
  refused(
    'invalid_request',
    'token has lapsed',
    'revoke its id on the primary, and make another one by POST sys/replication/dr/primary/secondary-token',
  )

export const differentSet = (): ApiError =>
  refused(
    'invalid_request',
    'token is of a different replication set',
    'make one on the primary of this cluster’s set, whose cluster_id GET sys/replication/dr/status shows; a cluster of another set has to be emptied by secondary/disable and secondary/enable',
  )

export const noUpdateGiven = (): ApiError =>
  refused(
    'invalid_request',
    'neither token nor update_primary_addrs is given',
    'give the token that the other primary has made, or "" to follow nobody',
  )

export const twoUpdatesGiven = (): ApiError =>
  refused(
    'invalid_request',
    'token and update_primary_addrs are given both',
    'give the token of another primary, or the addresses of the same one',
  )

export const noAddressGiven = (): ApiError =>
  refused(
    'invalid_request',
    'update_primary_addrs has no address, or more than 16',
    'list where the primary may be reached, in the order in which it shall be asked',
  )

export const onlyWithToken = (name: string): ApiError =>
  refused('invalid_request', `${name} goes with a token only`, 'leave it out')

export const caUnusable = (): ApiError =>
  refused(
    'invalid_request',
    'what is given as ca_cert, ca_file or ca_path must be certificates of authorities, PEM',
    'leave it out where an authority that everybody knows vouches for the primary',
  )

export const caTooLarge = (): ApiError =>
  refused(
    'invalid_request',
    'certificates of authorities come to more than 32 KiB',
    'give only those that vouch for the primary',
  )

export const caFileUnknown = (
  field: 'ca_file' | 'ca_path',
  given: string,
  shipped: readonly string[],
): ApiError =>
  refused(
    'invalid_request',
    shipped.length === 0
      ? `${field}: this deployment ships no certificates`
      : `${field} ${JSON.stringify(given.slice(0, 80))} names none of the certificates that this deployment ships: ${listed(shipped)}`,
    'name one that the setting caBundles ships, relative to its folder, or give the certificates themselves as ca_cert',
  )

const MOST_NAMES = 20
const listed = (names: readonly string[]): string =>
  [...names.slice(0, MOST_NAMES), ...(names.length > MOST_NAMES ? ['…'] : [])].join(', ')
