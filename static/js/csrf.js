// The CSRF token. Signing in again changes it; the cookie always holds the one that counts.
export const csrfToken = () => document.cookie.match(/(?:^|; )csrftoken=([^;]*)/)?.[1] ?? "";
