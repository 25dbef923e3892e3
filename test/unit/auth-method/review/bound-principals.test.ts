import { expect, test } from 'vitest'
import { collectPrincipals } from '../../../../shared/auth-method/review/bound-principals.ts'
import { iamRole } from '../../../builders/roles.ts'

const arnOf = (name: string) => `arn:aws:iam::111122223333:role/${name}`
const bound = (names: string[], ids: string[] = []) =>
  iamRole({ boundIamPrincipalArns: names.map(arnOf), boundIamPrincipalIds: ids })

test('a principal of several roles is listed once, with the unique ID that each role binds', () => {
  const principals = collectPrincipals()
  principals.add('one', bound(['a', 'x*', 'b'], ['AROAA', 'AROAB']))
  principals.add('two', bound(['b'], ['AROAOLD']))
  principals.add('three', { ...bound(['b']), authType: 'jwt', claims: { bound_eks_cluster_arn: ['c'] } })
  expect(principals.list()).toEqual([
    { arn: arnOf('a'), bindings: [{ role: 'one', bindsPods: false, comparesPath: true, boundId: 'AROAA' }] },
    {
      arn: arnOf('b'),
      bindings: [
        { role: 'one', bindsPods: false, comparesPath: true, boundId: 'AROAB' },
        { role: 'two', bindsPods: false, comparesPath: true, boundId: 'AROAOLD' },
        { role: 'three', bindsPods: true, comparesPath: true },
      ],
    },
  ])
  expect(principals.gap()).toBeUndefined()
})

test('at most 100 principals are listed, and the gap says so', () => {
  const principals = collectPrincipals()
  for (let index = 0; index < 100; index++) principals.add('many', bound([`p${index}`]))
  expect(principals.gap()).toBeUndefined()
  principals.add('more', bound(['p0', 'p100']))
  expect(principals.list()).toHaveLength(100)
  expect(principals.list()[0]?.bindings).toHaveLength(2)
  expect(principals.gap()).toBe('IAM was asked about the first 100 principals only')
})

test('names are compared without their path if the role binds no unique IDs', () => {
  const principals = collectPrincipals()
  principals.add('one', { ...bound(['a']), resolveAwsUniqueIds: false })
  expect(principals.list()[0]?.bindings).toMatchObject([{ comparesPath: false }])
})

test.each([
  [{ 'kubernetes-namespace': ['shop'] }, true],
  [{ team: ['shop'] }, false],
])('bound tags %j name pods: %s', (tags, bindsPods) => {
  const principals = collectPrincipals()
  principals.add('one', { ...bound(['a']), authType: 'jwt', claims: { bound_principal_tags: tags } })
  expect(principals.list()[0]?.bindings).toEqual([{ role: 'one', bindsPods, comparesPath: true }])
})
