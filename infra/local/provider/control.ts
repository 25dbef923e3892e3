import { type ControlMethod, command, runCommand } from './control/command.ts'
import { inputs } from './control/fields.ts'
import { documentOf, signDocument } from './documents/document.ts'
import { callsSince } from './faults/calls.ts'
import { arrangeFault, release } from './faults/faults.ts'
import { arrangeLimit } from './faults/limits.ts'
import { streamsOf } from './faults/log-groups.ts'
import { allow, deny } from './identity/permissions.ts'
import { deleteRole, findRole, putProfile, putRole } from './identity/roles.ts'
import { openSession } from './identity/sessions.ts'
import { addAccessKey, deleteUser, findUser, operatorKey, putUser, rootUser } from './identity/users.ts'
import { metadataPort } from './metadata-port.ts'
import type { ImitatedAws } from './state/imitated-aws.ts'
import { deleteInstance, findInstance, instancesIn, putInstance, setInstance } from './state/instances.ts'
import type { AccessKey } from './state/state.ts'
import { type HttpAnswer, headerOf, textAnswer, type WireRequest } from './wire/http.ts'

/** The control commands: each is `POST /_control/<name>` and a method of {@link Control}. */
const commands = {
  putInstance: command(inputs.newInstance, (aws, { account, region, instanceId, ...given }) =>
    putInstance(aws, { account, region, instanceId }, given),
  ),
  setInstance: command(inputs.instanceChange, (aws, { account, region, instanceId, ...patch }) =>
    existing(setInstance(aws, { account, region, instanceId }, patch), instanceId),
  ),
  deleteInstance: command(inputs.instance, (aws, name) =>
    done(existing(deleteInstance(aws, name), name.instanceId)),
  ),
  listInstances: command(inputs.place, (aws, { account, region }) => [
    ...instancesIn(aws, account, region).values(),
  ]),
  documents: command(inputs.instance, async (aws, name) =>
    signDocument(
      documentOf(existing(findInstance(aws, name), name.instanceId)),
      await aws.authority(),
      aws.now(),
    ),
  ),
  signDocument: command(inputs.document, async (aws, { document }) =>
    signDocument(document, await aws.authority(), aws.now()),
  ),
  metadataPort: command(inputs.metadataPort, metadataPort),
  authority: command(inputs.nothing, async aws => {
    const { rsa2048, rsa, dsa } = await aws.authority()
    return { rsa2048: rsa2048.certificate, rsa: rsa.certificate, dsa: dsa.certificate }
  }),
  putUser: command(inputs.newUser, putUser),
  deleteUser: command(inputs.named, (aws, { account, name }) => done(deleteUser(aws, account, name))),
  createAccessKey: command(inputs.keyOwner, (aws, { account, user }) =>
    keyPair(addAccessKey(aws, findUser(aws, account, user))),
  ),
  operatorKey: command(inputs.nothing, aws => keyPair(operatorKey(aws))),
  rootKey: command(inputs.root, (aws, { account, partition }) =>
    keyPair(addAccessKey(aws, rootUser(aws, account, partition))),
  ),
  putRole: command(inputs.newRole, (aws, { trusts = null, externalId = null, ...rest }) =>
    putRole(aws, { ...rest, trusts, externalId }),
  ),
  deleteRole: command(inputs.named, (aws, { account, name }) => done(deleteRole(aws, account, name))),
  putInstanceProfile: command(inputs.newProfile, putProfile),
  session: command(inputs.session, (aws, { account, role, session, ttlSeconds }) =>
    openSession(aws, findRole(aws, account, role), session, ttlSeconds),
  ),
  deny: command(inputs.denial, (aws, { principalArn, action }) => done(deny(aws, principalArn, action))),
  allow: command(inputs.denial, (aws, { principalArn, action }) => done(allow(aws, principalArn, action))),
  fault: command(inputs.fault, ({ arranged }, fault) => ({ id: arrangeFault(arranged.faults, fault) })),
  clearFaults: command(inputs.nothing, ({ arranged }) => done(release(arranged.faults, arranged.held))),
  held: command(inputs.arranged, ({ arranged }, { id }) => ({ calls: arranged.held.get(id)?.length ?? 0 })),
  release: command(inputs.arranged, ({ arranged }, { id }) =>
    done(release(arranged.faults, arranged.held, id)),
  ),
  limit: command(inputs.limit, ({ arranged }, limit) => done(arrangeLimit(arranged.limits, limit))),
  clearLimits: command(inputs.nothing, ({ arranged }) => done(arranged.limits.splice(0))),
  dropConnections: command(inputs.nothing, ({ arranged }) => done(arranged.connections.drop())),
  keyDelay: command(inputs.milliseconds, ({ arranged }, { milliseconds }) => {
    arranged.keyDelayMs = milliseconds
    return null
  }),
  calls: command(inputs.since, ({ arranged }, { since }) => ({ calls: callsSince(arranged.calls, since) })),
  resetCalls: command(inputs.nothing, ({ arranged }) => done(arranged.calls.records.splice(0))),
  advance: command(inputs.seconds, (aws, { seconds }) => {
    aws.arranged.clockShiftMs += seconds * 1000
    return { now: new Date(aws.now()).toISOString() }
  }),
  logEvents: command(inputs.logGroup, ({ arranged, home }, { group, account, region }) => {
    const place = { account: account ?? home.account, region: region ?? home.region }
    const streams = streamsOf(arranged.logGroups, { ...place, group })
    return { events: [...streams.values()].flat() }
  }),
  busEvents: command(inputs.nothing, ({ arranged }) => ({ events: [...arranged.busEvents] })),
}

type CommandName = keyof typeof commands

/** Returns the fields of each command, with `?` for optional ones. @see docs/look-up/imitated-aws.md */
export const commandFields = (): readonly (readonly [name: string, fields: readonly string[]])[] =>
  Object.entries(commands).map(([name, { schema }]) => [
    name,
    Object.entries(schema.entries).map(([field, { type }]) => (type === 'optional' ? `${field}?` : field)),
  ])

/** The control commands as methods, the same in the provider's process and over HTTP. */
export type Control = { [Name in CommandName]: ControlMethod<(typeof commands)[Name]> }

/** Creates control of the imitated AWS in this process. Methods reject with the fault of their argument. */
export const localControl = (aws: ImitatedAws): Control =>
  bind((name, input) => runCommand(aws, commands[name], input))

/**
 * Creates control of a provider in another process.
 * @param url of the provider
 * @param token its control token
 */
export const remoteControl = (url: string, token: string): Control =>
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

function bind(call: (name: CommandName, input: unknown) => Promise<unknown>): Control {
  const names = Object.keys(commands) as CommandName[]
  const methods = names.map(name => [name, (input: unknown) => call(name, input)])
  // The table gives each method its types; a loop over names cannot carry them.
  return Object.fromEntries(methods) as Control
}

/**
 * Answers control commands over HTTP.
 * @param isOwner reports whether a value of `Authorization` has the control token
 * @returns undefined for other paths; else 200 with the result as JSON, or 400 with `{"error"}`
 */
export function answerControl(
  aws: ImitatedAws,
  request: WireRequest,
  isOwner: (authorization: string) => boolean,
): Promise<HttpAnswer> | undefined {
  const name = /^\/_control\/(\w+)$/.exec(request.path)?.[1]
  if (name === undefined) return undefined
  return isOwner(headerOf(request, 'authorization') ?? '')
    ? answerCommand(aws, request, name)
    : Promise.resolve(json(401, { error: NO_TOKEN }))
}

const NO_TOKEN = 'commands need the header "Authorization: Bearer <token>" with control_token of cluster.json'

async function answerCommand(aws: ImitatedAws, request: WireRequest, name: string): Promise<HttpAnswer> {
  if (request.method !== 'POST') return json(405, { error: 'commands are sent with POST' })
  if (!isCommand(name)) return json(404, { error: `no command ${name}` })
  try {
    const input: unknown = JSON.parse(request.body.toString('utf8') || '{}')
    return json(200, await runCommand(aws, commands[name], input))
  } catch (error) {
    return json(400, { error: error instanceof Error ? error.message : String(error) })
  }
}

const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name)

const json = (status: number, value: unknown): HttpAnswer =>
  textAnswer(status, 'application/json', JSON.stringify(value))

/** Returns what was found. @throws Error if nothing was */
function existing<Found>(found: Found | undefined | false, name: string): Found {
  if (found === undefined || found === false) throw new Error(`${name} does not exist`)
  return found
}

const keyPair = ({ accessKeyId, secretAccessKey }: AccessKey) => ({ accessKeyId, secretAccessKey })

/** Returns the result of commands without one. */
const done = (_effect: unknown): null => null
