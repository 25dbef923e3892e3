import { type ControlMethod, defineControlCommand, runControlCommand } from './control/command.ts'
import { controlInputSchemas } from './control/fields.ts'
import { instanceDocumentOf, signInstanceDocument } from './documents/document.ts'
import { arrangeProviderFault, releaseHeldCalls } from './faults/faults.ts'
import { listSince } from './faults/kept.ts'
import { arrangeRateLimit } from './faults/limits.ts'
import { logStreamsOf } from './faults/log-groups.ts'
import { issuerHostOf, rotateIssuerKeys, setFederation, signWebToken } from './identity/federation.ts'
import { issueIdentityToken, putIdentityProvider } from './identity/identity-providers.ts'
import { moveAccount, putOrganization } from './identity/organizations.ts'
import { allowAction, denyAction } from './identity/permissions.ts'
import { deleteIamRole, findIamRole, putIamRole, putInstanceProfile } from './identity/roles.ts'
import { openRoleSession } from './identity/sessions.ts'
import {
  addUserAccessKey,
  createOperatorKey,
  deleteIamUser,
  findIamUser,
  putIamUser,
  rootUserOfAccount,
} from './identity/users.ts'
import { startMetadataPort } from './metadata-port.ts'
import { issueContainerToken } from './services/container-credentials.ts'
import type { ImitatedAws } from './state/imitated-aws.ts'
import {
  deleteInstance,
  findInstance,
  instancesInRegion,
  putInstance,
  setInstance,
} from './state/instances.ts'
import type { IamAccessKey, WebIdentityIssuer } from './state/state.ts'
import { createTextAnswer, type HttpAnswer, requestHeaderOf, type WireRequest } from './wire/http.ts'

/**
 * The control commands of the imitated AWS. Each command is `POST /_control/<name>` and a method of {@link
 * Control}.
 */
const commands = {
  putInstance: defineControlCommand(
    controlInputSchemas.newInstance,
    (aws, { account, region, instanceId, ...given }) =>
      putInstance(aws, { account, region, instanceId }, given),
  ),
  setInstance: defineControlCommand(
    controlInputSchemas.instanceChange,
    (aws, { account, region, instanceId, ...patch }) =>
      existing(setInstance(aws, { account, region, instanceId }, patch), instanceId),
  ),
  deleteInstance: defineControlCommand(controlInputSchemas.instance, (aws, name) =>
    done(existing(deleteInstance(aws, name), name.instanceId)),
  ),
  listInstances: defineControlCommand(controlInputSchemas.place, (aws, { account, region }) => [
    ...instancesInRegion(aws, account, region).values(),
  ]),
  documents: defineControlCommand(controlInputSchemas.instance, async (aws, name) =>
    signInstanceDocument(
      instanceDocumentOf(existing(findInstance(aws, name), name.instanceId)),
      await aws.authority(),
      aws.now(),
    ),
  ),
  signDocument: defineControlCommand(controlInputSchemas.document, async (aws, { document }) =>
    signInstanceDocument(document, await aws.authority(), aws.now()),
  ),
  metadataPort: defineControlCommand(controlInputSchemas.metadataPort, startMetadataPort),
  authority: defineControlCommand(controlInputSchemas.nothing, async aws => {
    const { rsa2048, rsa, dsa } = await aws.authority()
    return { rsa2048: rsa2048.certificate, rsa: rsa.certificate, dsa: dsa.certificate }
  }),
  putUser: defineControlCommand(controlInputSchemas.newUser, putIamUser),
  deleteUser: defineControlCommand(controlInputSchemas.named, (aws, { account, name }) =>
    done(deleteIamUser(aws, account, name)),
  ),
  createAccessKey: defineControlCommand(controlInputSchemas.keyOwner, (aws, { account, user }) =>
    keyPair(addUserAccessKey(aws, findIamUser(aws, account, user))),
  ),
  operatorKey: defineControlCommand(controlInputSchemas.nothing, aws => keyPair(createOperatorKey(aws))),
  rootKey: defineControlCommand(controlInputSchemas.root, (aws, { account, partition }) =>
    keyPair(addUserAccessKey(aws, rootUserOfAccount(aws, account, partition))),
  ),
  putRole: defineControlCommand(
    controlInputSchemas.newRole,
    (aws, { trusts = null, externalId = null, webIdentity, trustPolicy, ...rest }) =>
      putIamRole(aws, { ...rest, trusts, externalId, webIdentity, trustPolicy }),
  ),
  deleteRole: defineControlCommand(controlInputSchemas.named, (aws, { account, name }) =>
    done(deleteIamRole(aws, account, name)),
  ),
  putInstanceProfile: defineControlCommand(controlInputSchemas.newProfile, putInstanceProfile),
  session: defineControlCommand(
    controlInputSchemas.session,
    (aws, { account, role, session, ttlSeconds, claims }) =>
      openRoleSession(aws, findIamRole(aws, account, role), session, ttlSeconds, claims),
  ),
  putOrganization: defineControlCommand(controlInputSchemas.organization, (aws, { account, ...place }) =>
    putOrganization(aws, account, place),
  ),
  moveAccount: defineControlCommand(controlInputSchemas.move, (aws, { account, path }) =>
    moveAccount(aws, account, path),
  ),
  federation: defineControlCommand(controlInputSchemas.federation, (aws, given) =>
    issuerOf(setFederation(aws, given)),
  ),
  rotateIssuerKeys: defineControlCommand(controlInputSchemas.rotation, (aws, { account, keepIds }) =>
    issuerOf(rotateIssuerKeys(aws, account, keepIds)),
  ),
  signWebToken: defineControlCommand(
    controlInputSchemas.webToken,
    (aws, { account, claims, alg, header }) => ({
      token: signWebToken(aws, account, claims, { alg, header }),
    }),
  ),
  containerToken: defineControlCommand(
    controlInputSchemas.containerToken,
    (aws, { account, role, session, claims }) => ({
      token: issueContainerToken(aws, findIamRole(aws, account, role), session, claims),
    }),
  ),
  putIdentityProvider: defineControlCommand(controlInputSchemas.newIdentityProvider, putIdentityProvider),
  identityToken: defineControlCommand(controlInputSchemas.identityToken, async (aws, claims) => ({
    token: await issueIdentityToken(aws, claims),
  })),
  deny: defineControlCommand(controlInputSchemas.denial, (aws, { principalArn, action }) =>
    done(denyAction(aws, principalArn, action)),
  ),
  allow: defineControlCommand(controlInputSchemas.denial, (aws, { principalArn, action }) =>
    done(allowAction(aws, principalArn, action)),
  ),
  fault: defineControlCommand(controlInputSchemas.fault, ({ arranged }, fault) => ({
    id: arrangeProviderFault(arranged.faults, fault),
  })),
  clearFaults: defineControlCommand(controlInputSchemas.nothing, ({ arranged }) =>
    done(releaseHeldCalls(arranged.faults, arranged.held)),
  ),
  held: defineControlCommand(controlInputSchemas.arranged, ({ arranged }, { id }) => ({
    calls: arranged.held.get(id)?.length ?? 0,
  })),
  release: defineControlCommand(controlInputSchemas.arranged, ({ arranged }, { id }) =>
    done(releaseHeldCalls(arranged.faults, arranged.held, id)),
  ),
  limit: defineControlCommand(controlInputSchemas.limit, ({ arranged }, limit) =>
    done(arrangeRateLimit(arranged.limits, limit)),
  ),
  clearLimits: defineControlCommand(controlInputSchemas.nothing, ({ arranged }) =>
    done(arranged.limits.splice(0)),
  ),
  dropConnections: defineControlCommand(controlInputSchemas.nothing, ({ arranged }) =>
    done(arranged.connections.drop()),
  ),
  keyDelay: defineControlCommand(controlInputSchemas.milliseconds, ({ arranged }, { milliseconds }) => {
    arranged.keyDelayMs = milliseconds
    return null
  }),
  calls: defineControlCommand(controlInputSchemas.since, ({ arranged }, { since }) => ({
    calls: listSince(arranged.calls, since),
  })),
  resetCalls: defineControlCommand(controlInputSchemas.nothing, ({ arranged }) =>
    done(arranged.calls.records.splice(0)),
  ),
  advance: defineControlCommand(controlInputSchemas.seconds, (aws, { seconds }) => {
    aws.arranged.clockShiftMs += seconds * 1000
    return { now: new Date(aws.now()).toISOString() }
  }),
  logEvents: defineControlCommand(
    controlInputSchemas.logGroup,
    ({ arranged, home }, { group, account, region }) => {
      const place = { account: account ?? home.account, region: region ?? home.region }
      const streams = logStreamsOf(arranged.logGroups, { ...place, group })
      return { events: [...streams.values()].flat() }
    },
  ),
  busEvents: defineControlCommand(
    controlInputSchemas.since,
    ({ arranged: { busEvents: log } }, { since }) => ({
      events: listSince(log, since),
      last: log.nextSeq - 1,
    }),
  ),
  loseEvents: defineControlCommand(controlInputSchemas.lostEvents, ({ arranged }, { count }) => {
    arranged.busEvents.toLose = count
    return null
  }),
}

type CommandName = keyof typeof commands

/**
 * Returns the fields of each control command, with `?` for optional fields. @see docs/look-up/imitated-aws.md
 */
export const controlCommandFields = (): readonly (readonly [name: string, fields: readonly string[]])[] =>
  Object.entries(commands).map(([name, { schema }]) => [
    name,
    Object.entries(schema.entries).map(([field, { type }]) => (type === 'optional' ? `${field}?` : field)),
  ])

/** The control commands as methods, which are the same in the provider's process and over HTTP. */
export type ProviderControl = { [Name in CommandName]: ControlMethod<(typeof commands)[Name]> }

/**
 * Creates the control of an imitated AWS in this process. Methods of the control reject with the fault of their
 * argument.
 */
export const createLocalControl = (aws: ImitatedAws): ProviderControl =>
  bind((name, input) => runControlCommand(aws, commands[name], input))

/**
 * Creates the control of a provider in another process.
 * @param url URL of the provider
 * @param token its control token
 */
export const createRemoteControl = (url: string, token: string): ProviderControl =>
  bind(async (name, input) => {
    const answer = await fetch(`${url}/_control/${name}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(input ?? {}),
    })
    const result: unknown = await answer.json()
    if (!answer.ok) throw new Error(`${name}: ${JSON.stringify(result)}`)
    return result
  })

function bind(call: (name: CommandName, input: unknown) => Promise<unknown>): ProviderControl {
  const names = Object.keys(commands) as CommandName[]
  const methods = names.map(name => [name, (input: unknown) => call(name, input)])
  // The table gives each method its types; a loop over names would lose the types.
  return Object.fromEntries(methods) as ProviderControl
}

/**
 * Answers control commands over HTTP.
 * @param isOwner reports whether a value of `Authorization` has the control token
 * @returns undefined for other paths; else 200 with the result as JSON, or 400 with `{"error"}`
 */
export function answerControlRequest(
  aws: ImitatedAws,
  request: WireRequest,
  isOwner: (authorization: string) => boolean,
): Promise<HttpAnswer> | undefined {
  const name = /^\/_control\/(\w+)$/.exec(request.path)?.[1]
  if (name === undefined) return undefined
  return isOwner(requestHeaderOf(request, 'authorization') ?? '')
    ? answerCommand(aws, request, name)
    : Promise.resolve(json(401, { error: NO_TOKEN }))
}

const NO_TOKEN = 'commands need the header "Authorization: Bearer <token>" with control_token of cluster.json'

async function answerCommand(aws: ImitatedAws, request: WireRequest, name: string): Promise<HttpAnswer> {
  if (request.method !== 'POST') return json(405, { error: 'commands are sent with POST' })
  if (!isCommand(name)) return json(404, { error: `no command ${name}` })
  try {
    const input: unknown = JSON.parse(request.body.toString('utf8') || '{}')
    return json(200, await runControlCommand(aws, commands[name], input))
  } catch (error) {
    return json(400, { error: error instanceof Error ? error.message : String(error) })
  }
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name)

const json = (status: number, value: unknown): HttpAnswer =>
  createTextAnswer(status, 'application/json', JSON.stringify(value))

/** Returns a found object. @throws Error if nothing was found */
function existing<Found>(found: Found | undefined | false, name: string): Found {
  if (found === undefined || found === false) throw new Error(`${name} does not exist`)
  return found
}

const issuerOf = (issuer: WebIdentityIssuer) => ({
  id: issuer.id,
  issuer: `https://${issuerHostOf(issuer)}`,
  kids: issuer.keys.map(({ kid }) => kid),
})

const keyPair = ({ accessKeyId, secretAccessKey }: IamAccessKey) => ({ accessKeyId, secretAccessKey })

/** Returns null, as the result of commands that return nothing. */
const done = (_effect: unknown): null => null
