import { describe, expect, test } from 'vitest'
import { evaluate, type IamRequest, ruled, type Statement } from '../../../support/iam/evaluate.ts'
import { grantsOf, markOf, unusedGrants } from '../../../support/iam/grants.ts'
import { tableRequests } from '../../../support/iam/table-requests.ts'

const TABLE = 'arn:aws:dynamodb:us-east-1:111122223333:table/data'

const statement = (given: Partial<Statement> = {}): Statement => ({
  Effect: 'Allow',
  Action: 'dynamodb:PutItem',
  Resource: TABLE,
  ...given,
})
const request = (given: Partial<IamRequest> = {}): IamRequest => ({
  action: 'dynamodb:PutItem',
  resource: TABLE,
  context: {},
  ...given,
})
const allows = (statements: readonly Statement[], given: Partial<IamRequest> = {}): boolean =>
  evaluate(statements.map(ruled), request(given)).allowed

describe('evaluate follows the IAM user guide', () => {
  test.each<[name: string, statements: Statement[], allowed: boolean]>([
    ['nothing', [], false],
    ['a statement that allows', [statement()], true],
    ['a denial beside it', [statement(), statement({ Effect: 'Deny' })], false],
    [
      'a denial of something else',
      [statement(), statement({ Effect: 'Deny', Action: 'dynamodb:Scan' })],
      true,
    ],
    ['another action', [statement({ Action: ['dynamodb:Scan', 'dynamodb:Query'] })], false],
    ['actions by a pattern, in any case', [statement({ Action: 'DynamoDB:put*' })], true],
    ['resources by a pattern', [statement({ Resource: 'arn:aws:dynamodb:*:*:table/d?ta' })], true],
    ['a resource that only begins alike', [statement({ Resource: TABLE.slice(0, -1) })], false],
    ['everything', [statement({ Action: '*', Resource: '*' })], true],
  ])('%s', (_, statements, allowed) => expect(allows(statements)).toBe(allowed))

  // the table of AWS's page on multivalued keys, whose statement denies: a matching request is denied
  test.each<[keys: string[] | undefined, denied: boolean]>([
    [['key1:legal'], false],
    [['key1:hr', 'key1:personnel'], false],
    [['key2:audit'], true],
    [undefined, true],
  ])('a denial of ForAllValues:StringNotLike key1* for the request keys %j', (keys, denied) => {
    const denial = statement({
      Effect: 'Deny',
      Condition: { 'ForAllValues:StringNotLike': { 'aws:TagKeys': 'key1*' } },
    })
    const context: IamRequest['context'] = keys ? { 'aws:TagKeys': keys } : {}
    expect(allows([statement(), denial], { context })).toBe(!denied)
  })

  test.each<[condition: string, wanted: string | string[], values: string[] | undefined, holds: boolean]>([
    ['ForAllValues:StringLike', ['token#*'], ['token#a', 'token#b'], true],
    ['ForAllValues:StringLike', ['token#*'], ['token#a', 'role'], false],
    ['ForAllValues:StringLike', ['token#*'], undefined, true],
    ['ForAllValues:StringLike', ['token#*'], ['TOKEN#a'], false],
    ['ForAllValues:StringEquals', ['a', 'b'], ['b'], true],
    ['ForAllValues:StringEquals', ['a*'], ['ab'], false],
    ['ForAnyValue:StringEquals', ['a', 'b'], ['c', 'b'], true],
    ['ForAnyValue:StringEquals', ['a', 'b'], ['c'], false],
    ['ForAnyValue:StringEquals', ['a', 'b'], undefined, false],
    ['ForAnyValue:StringNotLike', ['a*'], undefined, false],
    ['StringEquals', 'x', ['x'], true],
    ['StringEquals', 'x', undefined, false],
    ['StringEqualsIfExists', 'x', undefined, true],
    ['StringEqualsIfExists', 'x', ['y'], false],
    ['StringNotEquals', 'x', undefined, true],
    ['StringNotLike', ['x*', 'y*'], ['yes'], false],
    ['StringNotLike', ['x*', 'y*'], ['no'], true],
    ['Null', 'false', undefined, false],
    ['Null', 'false', [], false],
    ['Null', 'false', ['x'], true],
    ['Null', 'true', undefined, true],
  ])('%s %j holds for %j: %s', (condition, wanted, values, holds) => {
    const under = statement({ Condition: { [condition]: { 'dynamodb:LeadingKeys': wanted } } })
    const context: IamRequest['context'] = values ? { 'DynamoDB:leadingkeys': values } : {}
    expect(allows([under], { context })).toBe(holds)
  })

  test('a statement applies only if all its conditions hold', () => {
    const both = statement({
      Condition: { StringEquals: { a: 'x', b: 'y' }, Null: { c: 'true' } },
    })
    expect(allows([both], { context: { a: ['x'], b: ['y'] } })).toBe(true)
    expect(allows([both], { context: { a: ['x'], b: ['z'] } })).toBe(false)
    expect(allows([both], { context: { a: ['x'], b: ['y'], c: ['z'] } })).toBe(false)
  })

  test.each<[name: string, given: object]>([
    ['an operator that is not known', { Condition: { IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } } }],
    ['IfExists behind a set', { Condition: { 'ForAnyValue:StringLikeIfExists': { a: 'b' } } }],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: of policies
    ['a policy variable', { Resource: 'arn:aws:s3:::${aws:username}/*' }],
    ['everything but', { NotAction: 'dynamodb:Scan' }],
  ])('an unsupported part of the policy language is an error: %s', (_, given) => {
    const withVariable = () => allows([statement(given)])
    expect(withVariable).toThrow('not judged')
  })
})

describe('IAM requests that a call to the tables needs', () => {
  const asked = (operation: string, input: object) =>
    tableRequests({ operation, input: input as Record<string, unknown> }, name => `arn:${name}`)
  const place = { pk: { S: 'p' }, sk: { S: 's' } }

  test('a transaction needs one IAM request for each element', () => {
    const TransactItems = [
      { Put: { TableName: 'a', Item: { ...place, x: { S: '1' } } } },
      { Delete: { TableName: 'b', Key: place } },
      { ConditionCheck: { TableName: 'a', Key: place, ConditionExpression: 'attribute_exists(pk)' } },
      {
        Update: {
          TableName: 'a',
          Key: place,
          UpdateExpression: 'SET uses = :n, #r = if_not_exists(#q, :r) REMOVE old',
          ExpressionAttributeNames: { '#r': 'rev', '#q': 'was' },
          ConditionExpression: 'rev = :old AND size(leaf) > :n',
        },
      },
    ]
    const context = (...names: string[]) => ({
      'dynamodb:LeadingKeys': ['p'],
      'dynamodb:Attributes': ['pk', 'sk', ...names],
    })
    expect(asked('TransactWriteItems', { TransactItems })).toEqual([
      { action: 'dynamodb:PutItem', resource: 'arn:a', context: context('x') },
      { action: 'dynamodb:DeleteItem', resource: 'arn:b', context: context() },
      { action: 'dynamodb:ConditionCheckItem', resource: 'arn:a', context: context() },
      {
        action: 'dynamodb:UpdateItem',
        resource: 'arn:a',
        context: context('rev', 'leaf', 'uses', 'was', 'old'),
      },
    ])
  })

  test('a batch needs one request for each table; a query has index and partition, a scan has no partition', () => {
    const reads = { a: { Keys: [place, { pk: { S: 'q' }, sk: { S: 's' } }] }, b: { Keys: [place] } }
    expect(asked('BatchGetItem', { RequestItems: reads })).toMatchObject([
      { resource: 'arn:a', context: { 'dynamodb:LeadingKeys': ['p', 'q'] } },
      { resource: 'arn:b', context: { 'dynamodb:LeadingKeys': ['p'] } },
    ])
    const writes = { a: [{ PutRequest: { Item: place } }] }
    expect(asked('BatchWriteItem', { RequestItems: writes })).toMatchObject([
      { action: 'dynamodb:BatchWriteItem', context: { 'dynamodb:LeadingKeys': ['p'] } },
    ])
    const query = {
      TableName: 'a',
      IndexName: 'tree',
      KeyConditionExpression: 'bucket = :b',
      ExpressionAttributeValues: { ':b': { S: '7' } },
    }
    expect(asked('Query', query)).toMatchObject([
      { resource: 'arn:a/index/tree', context: { 'dynamodb:LeadingKeys': ['7'] } },
    ])
    expect(asked('Scan', { TableName: 'a' })[0]?.context).not.toHaveProperty(['dynamodb:LeadingKeys'])
  })

  test("an IAM request of a write has the write's return values as a condition", () => {
    const put = { TableName: 'a', Item: place, ReturnValues: 'ALL_OLD' }
    expect(asked('PutItem', put)[0]?.context).toMatchObject({ 'dynamodb:ReturnValues': ['ALL_OLD'] })
  })
})

describe('grants that no call uses', () => {
  const write = statement({ Action: ['dynamodb:PutItem', 'dynamodb:DeleteItem'] })
  const granted = grantsOf({ roles: [write], login: [statement()] })
  const used = new Set([markOf('roles', write, request())])
  const because = 'nobody deletes yet'

  test('unused grants are reported by function, action and resource', () => {
    expect(unusedGrants(granted, used, []).unused.map(one => [one.function, one.action])).toEqual([
      ['roles', 'dynamodb:DeleteItem'],
      ['login', 'dynamodb:PutItem'],
    ])
  })

  test('the grants of a use are complete if another function uses the rest', () => {
    const all = grantsOf({ roles: [write], login: [write] })
    const { unused } = unusedGrants(all, used, [{ elsewhere: true, because }])
    expect(unused.map(one => [one.function, one.action])).toEqual([
      ['roles', 'dynamodb:DeleteItem'],
      ['login', 'dynamodb:DeleteItem'],
    ])
  })

  test('a reason covers matching grants, and a reason without a match is reported', () => {
    const reasons = [
      { action: 'dynamodb:DeleteItem', functions: ['roles'], resource: 'table/data', because },
      { action: 'dynamodb:Scan', because },
    ]
    const { unused, stale } = unusedGrants(granted, used, reasons)
    expect(unused.map(one => one.function)).toEqual(['login'])
    expect(stale).toEqual([reasons[1]])
  })
})
