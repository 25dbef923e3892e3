/** The account and region of the templates in tests. */
export const TEST_PLACE = { account: '111122223333', region: 'us-east-1' }
