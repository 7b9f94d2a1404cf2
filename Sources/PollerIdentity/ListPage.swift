package struct ListPage<Item: Sendable>: Sendable {
    package let items: [Item]
    /// The cursor of the next page; `nil` for the last page.
    package let next: String?
    /// The number of records or index entries that were read; 0 if they were not counted.
    package let looked: Int

    package init(items: [Item], next: String?, looked: Int = 0) {
        self.items = items
        self.next = next
        self.looked = looked
    }
}
