import { noBindings } from '../../shared/auth-method/roles/bindings.ts'
import type { Role } from '../../shared/model/role.ts'
import { defaultTokenParameters } from '../../shared/tokens/parameters.ts'
import type { EncryptedText } from '../../shared/values/secret.ts'

type RoleParts = Partial<Omit<Role, 'bound' | 'token'>> & {
  bound?: Partial<Role['bound']>
  token?: Partial<Role['token']>
}

const role = ({ bound = {}, token = {}, ...parts }: RoleParts, authType: Role['authType']): Role => ({
  authType,
  boundIamPrincipalArns: [],
  boundIamPrincipalIds: [],
  inferredEntityType: '',
  inferredAwsRegion: '',
  resolveAwsUniqueIds: true,
  roleId: '7f3a91c4-0000-4000-8000-000000000001',
  hmacKey: 'encrypted' as EncryptedText,
  roleTag: '',
  allowInstanceMigration: false,
  disallowReauthentication: false,
  ...parts,
  bound: { ...noBindings, ...bound },
  token: { ...defaultTokenParameters, policies: ['dev', 'prod'], ...token },
})

/** Returns an ec2 role with the settings that matter to a test. */
export const ec2Role = (parts: RoleParts = {}): Role => role(parts, 'ec2')

/** Returns an iam role that admits the caller of `iamFacts`, with the settings that matter to a test. */
export const iamRole = (parts: RoleParts = {}): Role =>
  role(
    {
      boundIamPrincipalIds: ['AROAEXAMPLE'],
      boundIamPrincipalArns: ['arn:aws:iam::111122223333:role/app'],
      ...parts,
    },
    'iam',
  )

/** Returns an iam role that infers the EC2 instance of the caller. */
export const inferringRole = (parts: RoleParts = {}): Role =>
  iamRole({ inferredEntityType: 'ec2_instance', inferredAwsRegion: 'eu-west-1', ...parts })
