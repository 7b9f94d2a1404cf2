/// One page of a list, newest first.
public struct StripeList<Element: Decodable & Sendable>: Sendable, Decodable {
    /// The page.
    public let data: [Element]
    /// Whether more follow in the direction asked for.
    public let hasMore: Bool

    private enum CodingKeys: String, CodingKey {
        case data
        case hasMore = "has_more"
    }
}
