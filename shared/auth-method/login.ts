import type { Call, EarlyCall, MountCall, RequestPhases } from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import type { SuppliedParameters } from '../api/fields.ts'
import { createStsRefusal } from '../identity-proof/caller-identity.ts'
import {
  addCertificateHint,
  type InstanceDocument,
  needsMoreKeys,
  readDocumentProof,
  verifyDocumentProof,
} from '../identity-proof/instance-document.ts'
import { readSignedRequest, requestAgeSeconds } from '../identity-proof/signed-request.ts'
import { loadBuiltInKeys } from '../identity-proof/trust.ts'
import { findMountByPath, isAuthMethodMount, type Mount } from '../model/mount.ts'
import type { LoginType } from '../model/role.ts'
import type { Ports } from '../ports.ts'
import { type Key, key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import { ok } from '../values/result.ts'
import { runOnce } from '../values/run-once.ts'
import { defaultClientSettings } from './config/client-settings.ts'
import { throwLoginRefusal, unknownRoleError } from './login/checks.ts'
import type { loginFields } from './login/fields.ts'
import { ec2LoginKeys, ec2LoginRoleName, guessEc2Alias } from './login-ec2/gather.ts'
import { ec2LoginPhases } from './login-ec2/login.ts'
import { type Ec2Proof, type Ec2ProofInput, verifyByRememberedKey } from './login-ec2/proof.ts'
import { buildStsRequest } from './login-iam/gather.ts'
import { type IamProof, iamLoginPhases } from './login-iam/login.ts'
import type { JwtProof } from './login-jwt/prepare.ts'

type Given = SuppliedParameters<typeof loginFields>

type LoginCall = MountCall<typeof loginFields>

export type LoginProof = Ec2Proof | IamProof | JwtProof

/**
 * Determines the login type from the parameters, which must be one complete set of one type.
 * @throws ApiError `invalid_request`
 * @see docs/spec/login-ec2.md#which-type-of-login
 */
export function loginTypeOf(given: Given): LoginType {
  const has = (...names: (keyof Given)[]) => names.every(name => Object.hasOwn(given, name))
  const ec2 = has('pkcs7') || has('identity', 'signature')
  const request = has('iam_http_request_method', 'iam_request_url', 'iam_request_headers')
  const iam = request && (given.iam_http_request_method === 'GET' || has('iam_request_body'))
  if (given.jwt) {
    if (OTHERS.some(name => has(name)))
      throw invalidRequestError('values for more than one type of login were given')
    return 'jwt'
  }
  if (ec2 && iam) throw invalidRequestError('values for both the ec2 and the iam type were given')
  if (!ec2 && !iam)
    throw invalidRequestError(`required authentication values are missing: ${missingFrom(given, has)}`)
  return ec2 ? 'ec2' : 'iam'
}

const EC2 = ['identity', 'signature'] as const
const IAM = ['iam_http_request_method', 'iam_request_url', 'iam_request_headers', 'iam_request_body'] as const
const OTHERS = [...EC2, ...IAM, 'pkcs7', 'nonce'] as const

/** Names the missing fields of the login type that the request has begun. */
function missingFrom(given: Given, has: (name: keyof Given) => boolean): string {
  const missing = (names: readonly (keyof Given)[]) => names.filter(name => !has(name)).join(', ')
  if (IAM.some(name => has(name)))
    return missing(given.iam_http_request_method === 'GET' ? IAM.slice(0, 3) : IAM)
  if (EC2.some(name => has(name))) return missing(EC2)
  return `give pkcs7, or ${EC2.join(' and ')}, or ${IAM.join(', ')} (no body with GET)`
}

/** Loads the code of logins by token, which most environments never need. */
const loadJwtLogin = runOnce(async () => (await import('./login-jwt/login.ts')).jwtLogin)

/** Reads the proof of a login and verifies it as far as no storage and no AWS call is needed. */
export async function readLoginProof(given: Given, legacySignatures: boolean): Promise<LoginProof> {
  const type = loginTypeOf(given)
  if (type === 'jwt') return (await loadJwtLogin()).readProof(given.jwt ?? '')
  if (type === 'iam') {
    const request = readSignedRequest({
      method: given.iam_http_request_method ?? '',
      url: given.iam_request_url ?? '',
      body: given.iam_request_body ?? '',
      headers: given.iam_request_headers,
    })
    return { type: 'iam', request }
  }
  const { pkcs7, identity, signature } = given
  return verifyDocumentByBuiltInKeys(
    defined({
      pkcs7,
      identity,
      signature,
    }),
    legacySignatures,
  )
}

/**
 * Reads an identity document and verifies it with the built-in AWS keys. A document that only a registered certificate might
 * verify is returned unverified. @throws ApiError `invalid_request`
 */
export async function verifyDocumentByBuiltInKeys(input: Ec2ProofInput, legacy: boolean): Promise<Ec2Proof> {
  const proof = readDocumentProof(input)
  if (!proof.ok) return throwLoginRefusal(proof.fault)
  const document = verifyDocumentProof(proof.value, await loadBuiltInKeys(legacy), legacy)
  if (document.ok) return { type: 'ec2', proof: proof.value, document: document.value }
  return needsMoreKeys(document.fault)
    ? { type: 'ec2', proof: proof.value }
    : throwLoginRefusal(document.fault)
}

/** Runs before the first read: reads the proof, and returns the keys that the login needs before its first call to AWS. */
export async function prepareLogin(
  early: EarlyCall<typeof loginFields>,
): Promise<{ keys: readonly Key[]; prepared: LoginProof }> {
  const { parameters, ports, pathParameters } = early
  const proof = await readLoginProof(parameters, ports.deployment.legacySignatures)
  // loads the EC2 client during the first read; if loading fails, the later call reports it
  if (proof.type === 'ec2') ports.instances.load().catch(() => undefined)
  const accessor = rememberedMount(ports, pathParameters['mount'])?.accessor
  if (accessor === undefined) return { prepared: proof, keys: [] }
  if (proof.type === 'iam') return { prepared: proof, keys: [key('client-config', accessor)] }
  if (proof.type === 'jwt') return (await loadJwtLogin()).prepare(early, accessor, proof.jwt)
  const guess = proof.document ? undefined : verifyByRememberedKey(ports, accessor, proof.proof)
  const document = proof.document ?? guess?.document
  const keys = [...(guess ? [guess.place] : []), ...(document ? keysOf(document, accessor, early) : [])]
  return { prepared: { ...proof, guess }, keys }
}

function rememberedMount({ memory }: Ports, path = ''): Mount | undefined {
  const mount = memory.mounts && findMountByPath(memory.mounts.table, path)
  return mount && isAuthMethodMount(mount) ? mount : undefined
}

/** Returns the known or guessed keys of an instance's login. */
function keysOf(
  document: InstanceDocument,
  accessor: string,
  { parameters, ports }: EarlyCall<typeof loginFields>,
): Key[] {
  const roleName = ec2LoginRoleName(parameters.role, document)
  return [
    ...ec2LoginKeys(accessor, roleName, document),
    ...guessEc2Alias(ports.keyHints, accessor, roleName, document),
  ]
}

/** Returns the phases of POST login for the type of its proof. */
export function loginPhasesOf(call: LoginCall): RequestPhases<LoginCall> | Promise<RequestPhases<LoginCall>> {
  const { type } = proofOf(call)
  if (type === 'jwt') return loadJwtLogin().then(({ phases }) => phases)
  return type === 'ec2' ? ec2LoginPhases : iamLoginPhases
}

function proofOf({ prepared }: Pick<Call, 'prepared'>): LoginProof {
  if (!prepared) throw new ApiError('internal', 'a login without proof')
  return prepared as LoginProof
}

/**
 * Rejects a login at a mount that does not exist, with the same error as a mount without roles and certificates.
 * The rejection calls no AWS service, because the error for an invalid proof is the same.
 */
export async function refuseLoginWithoutMount(call: Call<typeof loginFields>): Promise<never> {
  const { parameters, ports, now } = call
  const proof = proofOf(call)
  if (proof.type === 'jwt') return (await loadJwtLogin()).refuseWithoutMount()
  const seen = { mount: 'none' }
  if (proof.type === 'iam') {
    const outbound = buildStsRequest(proof.request, defaultClientSettings, call)
    return throwLoginRefusal(
      outbound.ok ? createStsRefusal(requestAgeSeconds(proof.request, now)) : outbound.fault,
      seen,
    )
  }
  const document = proof.document
    ? ok(proof.document)
    : verifyDocumentProof(proof.proof, [], ports.deployment.legacySignatures)
  if (!document.ok) return throwLoginRefusal(addCertificateHint(document.fault, proof.proof.form), seen)
  throw unknownRoleError(ec2LoginRoleName(parameters.role, document.value))
}
