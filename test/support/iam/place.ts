/** Where the templates of tests are synthesised for. */
export const TEST_PLACE = { account: '111122223333', region: 'us-east-1' }
