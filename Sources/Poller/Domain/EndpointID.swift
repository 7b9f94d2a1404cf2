/// The id of a place that events are delivered to: `ep_…`, derived from account and URL, so the
/// same URL named on many watches is one endpoint with one limit and one breaker.
package struct EndpointID: Hashable, Sendable, CustomStringConvertible {
    /// `ep_` and 16 characters of base64url.
    package let description: String

    /// The endpoint of this URL under this account.
    package init(account: AccountID, url: String) {
        description = "ep_" + Digest.base64url(of: [account.description, url], bytes: 12)
    }

    /// Wraps an id read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}
