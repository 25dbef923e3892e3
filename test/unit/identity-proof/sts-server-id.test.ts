import { describe, expect, test } from 'vitest'
import { rebuildStsRequest } from '../../../shared/identity-proof/sts-request.ts'
import { authorization, getInput, postInput, request, usualRules } from '../../builders/signed-request.ts'

const ours = 'X-Service-Cloud-IAM-Server-ID'
const vaults = 'X-Vault-AWS-IAM-Server-ID'
const SIGNED = 'host;x-service-cloud-iam-server-id'
const VAULTS_SIGNED = 'host;x-vault-aws-iam-server-id'

function judge(input: ReturnType<typeof postInput>, serverId = 'login.example.com'): string {
  const rebuilt = rebuildStsRequest(request(input), {
    ...usualRules,
    serverId,
  })
  return rebuilt.ok ? 'sent' : rebuilt.fault.why
}

const post = (headers: Record<string, unknown>, signed = SIGNED) =>
  judge(postInput({ ...headers, Authorization: authorization(signed) }))
const id = 'login.example.com'

describe('the server ID header', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    ['right and signed', { [ours]: id }, SIGNED, 'sent'],
    ['right and signed, in lower case', { [ours.toLowerCase()]: id }, SIGNED, 'sent'],
    ['right and signed, under Vault’s name', { [vaults]: id }, VAULTS_SIGNED, 'sent'],
    ['right under both names, one of them signed', { [ours]: id, [vaults]: id }, SIGNED, 'sent'],
    ['missing', {}, SIGNED, 'server-id-missing'],
    ['under another name', { 'X-Server-ID': id }, SIGNED, 'server-id-missing'],
    ['wrong', { [ours]: 'evil.example' }, SIGNED, 'server-id-mismatch'],
    ['empty', { [ours]: '' }, SIGNED, 'server-id-mismatch'],
    ['in another case', { [ours]: id.toUpperCase() }, SIGNED, 'server-id-mismatch'],
    ['right, with more behind it', { [ours]: `${id}.evil` }, SIGNED, 'server-id-mismatch'],
    ['right and wrong in two values', { [ours]: [id, 'evil.example'] }, SIGNED, 'server-id-mismatch'],
    ['right twice', { [ours]: [id, id] }, SIGNED, 'server-id-mismatch'],
    [
      'right and wrong in two spellings',
      { [ours]: id, [ours.toLowerCase()]: 'evil.example' },
      SIGNED,
      'server-id-mismatch',
    ],
    [
      'right under one name, wrong under the other',
      { [ours]: id, [vaults]: 'evil.example' },
      SIGNED,
      'server-id-mismatch',
    ],
    ['right but not signed', { [ours]: id }, 'host;x-amz-date', 'server-id-unsigned'],
    ['right, while the other name is signed', { [ours]: id }, VAULTS_SIGNED, 'server-id-unsigned'],
    ['right, while a longer name is signed', { [ours]: id }, `${SIGNED}-x`, 'server-id-unsigned'],
  ])('%s: $3', (_, headers, signed, expected) => {
    expect(post(headers, signed)).toBe(expected)
  })

  test('a server ID signed in a presigned request is accepted by its query', () => {
    const headers = { [ours]: id }
    expect(judge(getInput({ 'X-Amz-SignedHeaders': SIGNED }, { headers }))).toBe('sent')
    expect(judge(getInput({}, { headers }))).toBe('server-id-unsigned')
  })

  test('without a configured server ID, requests need no server ID header', () => {
    expect(judge(postInput(), '')).toBe('sent')
    expect(judge(postInput({ [ours]: 'anything' }), '')).toBe('sent')
  })

  test('the configured server ID never appears in the result', () => {
    const rebuilt = rebuildStsRequest(request(postInput({ [ours]: 'x' })), {
      ...usualRules,
      serverId: id,
    })
    expect(JSON.stringify(rebuilt)).not.toContain(id)
  })
})
