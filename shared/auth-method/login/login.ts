import { type Call, type Early, mountOf, type Outcome } from '../../api/call.ts'
import { ApiError, invalid } from '../../api/errors.ts'
import type { Supplied } from '../../api/fields.ts'
import { readSignedRequest } from '../../identity-proof/signed-request.ts'
import type { Key } from '../../storage/kinds.ts'
import { ec2Keys, ec2RoleName, guessEc2Alias } from '../login-ec2/gather.ts'
import { loginEc2 } from '../login-ec2/login.ts'
import { type Ec2Proof, proveEarly } from '../login-ec2/proof.ts'
import { guessIamAlias, iamKeys } from '../login-iam/gather.ts'
import { type IamProof, loginIam } from '../login-iam/login.ts'
import { recallOf, remember } from './fetch.ts'
import type { loginFields } from './fields.ts'

type Given = Supplied<typeof loginFields>

export type Proof = Ec2Proof | IamProof

/**
 * Which type of login the parameters make: one complete set of one type.
 * @throws ApiError `invalid_request`
 * @see auth-behaviour 4.1
 */
export function loginType(given: Given): 'ec2' | 'iam' {
  const has = (...names: (keyof Given)[]) => names.every(name => Object.hasOwn(given, name))
  const ec2 = has('pkcs7') || has('identity', 'signature')
  const request = has('iam_http_request_method', 'iam_request_url', 'iam_request_headers')
  const iam = request && (given.iam_http_request_method === 'GET' || has('iam_request_body'))
  if (ec2 && iam) throw invalid('values for both the ec2 and the iam type were given')
  if (!ec2 && !iam) throw invalid('required authentication values are missing')
  return ec2 ? 'ec2' : 'iam'
}

/** Reads the proof, and verifies it as far as that costs nothing. */
export async function readLogin(given: Given, legacySignatures: boolean): Promise<Proof> {
  if (loginType(given) === 'iam') {
    const request = readSignedRequest({
      method: given.iam_http_request_method ?? '',
      url: given.iam_request_url ?? '',
      body: given.iam_request_body ?? '',
      headers: given.iam_request_headers,
    })
    return { type: 'iam', request }
  }
  const { pkcs7, identity, signature } = given
  return proveEarly(
    {
      ...(pkcs7 === undefined ? {} : { pkcs7 }),
      ...(identity === undefined ? {} : { identity }),
      ...(signature === undefined ? {} : { signature }),
    },
    legacySignatures,
  )
}

/** Before anything is read: the proof, and the keys of all that the login will look at. */
export async function prepareLogin(
  early: Early<typeof loginFields>,
): Promise<{ keys: readonly Key[]; prepared: Proof }> {
  const { given, ports, params } = early
  const proof = await readLogin(given, ports.deployment.legacySignatures)
  const accessor = ports.recall.get(recallOf.accessor(params['mount'] ?? ''))
  return { prepared: proof, keys: accessor === undefined ? [] : keysOf(proof, accessor, early) }
}

function keysOf(proof: Proof, accessor: string, { given, ports }: Early<typeof loginFields>): Key[] {
  if (proof.type === 'iam') {
    return [...iamKeys(accessor, given.role), ...guessIamAlias(ports.recall, accessor, given.role)]
  }
  const roleName = ec2RoleName(given.role, proof)
  return [...ec2Keys(accessor, roleName, proof), ...guessEc2Alias(ports.recall, accessor, roleName, proof)]
}

/** POST login. @see interface 2.8, auth-behaviour 4 */
export function login(call: Call<typeof loginFields>): Promise<Outcome> {
  const proof = call.prepared as Proof | undefined
  if (!proof) throw new ApiError('internal', 'a login without proof')
  const { path, accessor } = mountOf(call)
  remember(call.ports, recallOf.accessor(path), accessor)
  return proof.type === 'ec2' ? loginEc2(call, proof) : loginIam(call, proof)
}
