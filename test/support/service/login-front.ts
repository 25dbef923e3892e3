let byWebFunction = Boolean(process.env['WEB_LOGINS'])

/** Lets further logins of this test file go through an HTTP server, like logins of a Web Function. */
export const serveLoginsByWebFunction = (): void => {
  byWebFunction = true
}

/** Reports whether logins of this test file go through a Web Function. */
export const loginsByWebFunction = (): boolean => byWebFunction
