/// One page of a list, newest first.
///
/// *Shape*: `{"object": "list", "data": […], "has_more": true, "url": "/v1/events"}`.
/// *Source*: <https://docs.stripe.com/api/pagination>.
public struct StripeList<Element: Codable & Sendable>: Codable, Sendable {
    /// The page.
    public let data: [Element]
    /// Whether more follow in the direction asked for.
    public let hasMore: Bool
    /// The list's path.
    public let url: String?

    private enum CodingKeys: String, CodingKey {
        case data, url
        case hasMore = "has_more"
    }
}
