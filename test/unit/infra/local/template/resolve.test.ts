import { describe, expect, test } from 'vitest'
import {
  createTemplateResolver,
  type ResourceNaming,
  type StackTemplatesByName,
} from '../../../../../infra/local/template/resolve.ts'

const naming: ResourceNaming = {
  pseudo: { 'AWS::Region': 'eu-west-1' },
  ref: (stack, id) => `${stack}/${id}`,
  attribute: (stack, id, name) => `${stack}/${id}.${name}`,
}
const stacks: StackTemplatesByName = {
  api: { Resources: {} },
  data: {
    Resources: {},
    Outputs: {
      Address: { Value: 'x' },
      Table: { Value: { 'Fn::GetAtt': ['Items', 'Arn'] }, Export: { Name: 'data:Table' } },
    },
  },
}
const resolve = (value: unknown) => createTemplateResolver(stacks, naming)('api', value)

describe('intrinsic functions of templates on the embedded host', () => {
  test.each<[name: string, value: unknown, expected: unknown]>([
    ['plain values', { a: [1, 'b', true, null], c: { d: 2 } }, { a: [1, 'b', true, null], c: { d: 2 } }],
    ['a reference', { Ref: 'Fn' }, 'api/Fn'],
    ['a pseudo parameter', { Ref: 'AWS::Region' }, 'eu-west-1'],
    ['an attribute', { 'Fn::GetAtt': ['Fn', 'Arn'] }, 'api/Fn.Arn'],
    ['a joined text', { 'Fn::Join': ['-', ['a', { Ref: 'AWS::Region' }, 1]] }, 'a-eu-west-1-1'],
    ['a text with references', { 'Fn::Sub': 'x-$\u007bAWS::Region}-$\u007bFn}' }, 'x-eu-west-1-api/Fn'],
    ['what another stack exports', { 'Fn::ImportValue': 'data:Table' }, 'data/Items.Arn'],
    [
      'an output of another stack',
      { 'Fn::GetStackOutput': { StackName: 'data', OutputName: 'Table' } },
      'data/Items.Arn',
    ],
    ['inside of objects and lists', [{ a: { b: { Ref: 'X' } } }], [{ a: { b: 'api/X' } }]],
    ['an object with more keys than Ref', { Ref: 'X', a: 1 }, { Ref: 'X', a: 1 }],
  ])('resolve %s', (_, value, expected) => expect(resolve(value)).toEqual(expected))

  test.each(['Fn::If', 'Fn::Select', 'Fn::Base64'])('%s is rejected as unknown', name => {
    expect(() => resolve({ a: { [name]: [] } })).toThrow(`the template uses ${name}`)
  })

  test('an import without an export is rejected', () => {
    expect(() => resolve({ 'Fn::ImportValue': 'Address' })).toThrow('no stack exports Address')
    const missing = { 'Fn::GetStackOutput': { StackName: 'data', OutputName: 'Stream' } }
    expect(() => resolve(missing)).toThrow('the stack data has no output Stream')
  })
})
