/// Some items, and where the next ones are.
package struct ListPage<Item: Sendable>: Sendable {
    package let items: [Item]
    /// The cursor of the next page; nil when this was the last.
    package let next: String?
    /// How many records, or entries of an index, were read for it; 0 where they were not counted.
    package let looked: Int

    /// Puts a page together.
    package init(items: [Item], next: String?, looked: Int = 0) {
        self.items = items
        self.next = next
        self.looked = looked
    }
}
