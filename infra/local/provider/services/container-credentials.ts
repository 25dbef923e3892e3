import { answerUnderFault, type ProviderExchange } from '../faults/exchange.ts'
import { openRoleSession } from '../identity/sessions.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { sealText, unsealText } from '../state/seal.ts'
import type { IamRole } from '../state/state.ts'
import {
  createTextAnswer,
  type HttpAnswer,
  requestHeaderOf,
  type WireOutcome,
  type WireRequest,
} from '../wire/http.ts'

const PATH = '/v1/credentials'
const USE = 'container'
const CREDENTIAL_SECONDS = 3600

/**
 * Issues the token of a container (`AWS_CONTAINER_AUTHORIZATION_TOKEN`), which names role and session.
 * @param facts claims of the session's tokens, for example the tags of a pod
 */
export const issueContainerToken = (
  aws: ImitatedAws,
  role: IamRole,
  session: string,
  facts?: Record<string, unknown>,
): string => sealText(aws, USE, JSON.stringify([role.account, role.name, role.roleId, session, facts]))

/**
 * Answers as the credential endpoint of ECS, CodeBuild and the agent of EKS Pod Identity.
 * @returns undefined for other paths
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
 */
export function answerContainer(aws: ImitatedAws, request: WireRequest): Promise<WireOutcome> | undefined {
  if (request.path !== PATH) return undefined
  const exchange: ProviderExchange = {
    request,
    service: 'container',
    action: `${request.method} credentials`,
    account: null,
    region: null,
    principalArn: null,
    refuse: error => refused(500, 'InternalServerError', error.message),
  }
  return answerUnderFault(aws, exchange, async () => answerTo(aws, request))
}

function answerTo(aws: ImitatedAws, request: WireRequest): HttpAnswer {
  if (request.method !== 'GET') return refused(405, 'MethodNotAllowed', 'use GET')
  const text = unsealText(aws, USE, requestHeaderOf(request, 'authorization') ?? '')
  const [account, name, roleId, session, facts] = text === undefined ? [] : JSON.parse(text)
  const role = aws.state.roles.get(`${account}/${name}`)
  if (role === undefined || role.roleId !== roleId)
    return refused(400, 'AccessDeniedException', 'the authorization token is missing or invalid')
  const { accessKeyId, secretAccessKey, sessionToken, expiration } = openRoleSession(
    aws,
    role,
    session,
    CREDENTIAL_SECONDS,
    facts ?? undefined,
  )
  return json(200, {
    RoleArn: role.arn,
    AccessKeyId: accessKeyId,
    SecretAccessKey: secretAccessKey,
    Token: sessionToken,
    Expiration: expiration,
  })
}

const refused = (status: number, code: string, message: string): HttpAnswer => json(status, { code, message })

const json = (status: number, value: object): HttpAnswer =>
  createTextAnswer(status, 'application/json', JSON.stringify(value))
