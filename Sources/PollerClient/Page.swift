#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Some items, and where the next ones are.
public struct Page<Item: Hashable & Sendable>: Hashable, Sendable {
    /// The items, in order.
    public let items: [Item]
    /// Whether there is more right now.
    public let hasMore: Bool
    /// The cursor of the next page; nil when this was the last.
    public let next: String?
    /// Events before these are no longer kept: read the watches anew.
    ///
    /// Never for watches.
    public let hasGap: Bool
    /// The page as the server sent it.
    public let json: String

    /// Reads a page whose items are read by `make`.
    init(_ answer: PollerClient.Answer, _ make: (String) -> Item?) throws(PollerError) {
        let wire = try answer.decoded(PageWire.self)
        var items: [Item] = []
        for text in JSONSlices.elements(ofMember: "data", in: answer.body) {
            guard let item = make(text) else {
                throw .unintelligible(
                    "an item of the answer cannot be understood: use a client of the server's "
                        + "version"
                )
            }
            items.append(item)
        }
        self.items = items
        hasMore = wire.hasMore
        next = wire.next
        hasGap = wire.gap ?? false
        json = answer.text
    }
}

/// A page without its items.
private struct PageWire: Decodable {
    let hasMore: Bool
    let next: String?
    let gap: Bool?

    enum CodingKeys: String, CodingKey {
        case next, gap
        case hasMore = "has_more"
    }
}
