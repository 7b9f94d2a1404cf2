import JSONText

/// A page of items with the cursor of the next page.
package struct Page<Item: WireValue & Hashable>: WireObject, Hashable {
    /// The items, in order.
    package var items: [Item] = []
    /// Whether more items are available now.
    package var hasMore = false
    /// The cursor of the next page; `nil` on the last page.
    package var next: String?
    /// Whether earlier events have been dropped, so that the client must read the watches again.
    package var hasGap = false
    /// The number of records examined; `nil` if they were not counted.
    package var looked: Int?

    package init() {}

    /// Creates a page, with the cursor of the next page if there are more items.
    package init(_ items: [Item], next: String? = nil) {
        self.items = items
        hasMore = next != nil
        self.next = next
    }

    package static var shape: Shape<Page<Item>> {
        let item = (Item.self as? any WireObject.Type).flatMap { componentName($0) }
        return Shape(item.map { "\($0)Page" }) {
            Field("data", \.items)
            Field("has_more", \.hasMore)
            Field(nullable: "next", \.next)
            if Item.self == Watch.self {
                Field("looked", \.looked)
                    .note("The number of records read for this page. Few of them may match.")
            }
            if Item.self == Event.self || Item.self == RawJSON.self {
                Field("gap", \.hasGap)
                    .note("Earlier events are no longer kept. Read the current watches instead.")
            }
        }
    }

    private static func componentName<Object: WireObject>(_ type: Object.Type) -> String? {
        type.shape.name
    }
}
