import { describe, expect, test } from 'vitest'
import { readEnvironment } from '../../../../shared/adapters/aws/environment.ts'

const read = (more: Record<string, string>) =>
  readEnvironment({ AWS_REGION: 'eu-west-1', DATA_TABLE: 'd', CLUSTER_TABLE: 'c', ...more })

describe('the address of a Web Function', () => {
  test.each([
    ['0.0.0.0:3000', { host: '0.0.0.0', port: 3000 }],
    ['[::]:8080', { host: '::', port: 8080 }],
    ['localhost:0', { host: 'localhost', port: 0 }],
  ])('the address is parsed from %s', (text, webEndpoint) => {
    // a Web Function has no function name, and only Lambda's credentials
    expect(read({ AWS_LAMBDA_HTTP_ENDPOINT: text })).toMatchObject({ webEndpoint, onLambda: true })
  })

  test('a function without the address of a Web Function receives events; the variable AWS_LAMBDA_FUNCTION_NAME shows that it runs on Lambda', () => {
    for (const more of [{}, { AWS_LAMBDA_HTTP_ENDPOINT: '' }])
      expect(read(more)).toMatchObject({ webEndpoint: undefined, onLambda: false })
    expect(read({ AWS_LAMBDA_FUNCTION_NAME: 'f' })).toMatchObject({ webEndpoint: undefined, onLambda: true })
  })

  test.each(['3000', 'host', ':3000', 'host:port', 'host:123456'])('%s is rejected as an address', text => {
    expect(() => read({ AWS_LAMBDA_HTTP_ENDPOINT: text })).toThrow('AWS_LAMBDA_HTTP_ENDPOINT')
  })
})
