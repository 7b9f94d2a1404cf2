import PollerClient

extension ServerOptions {
    /// Items asked for at a time.
    private static let pageMax = 500

    /// Prints a list page by page: one JSON object a line, or a table.
    ///
    /// `page`: asks for at most so many items behind a cursor.
    func list<Item>(
        _ table: Table,
        limit: Int,
        _ json: (Item) -> String,
        _ row: (Item) -> [Table.Cell],
        page: (Int, String?) async throws -> Page<Item>
    ) async throws {
        var table = table
        var left = limit
        var cursor: String?
        var hasMore = true
        while hasMore, left > 0 {
            let page = try await page(min(left, Self.pageMax), cursor)
            left -= page.items.count
            cursor = page.next
            hasMore = page.next != nil
            if self.json {
                for item in page.items { Terminal.printLine(json(item)) }
            } else {
                table.rows += page.items.map(row)
            }
        }
        if !self.json { table.print() }
        guard Terminal.isErrorInteractive else { return }
        if hasMore { Terminal.printError("there are more; see --limit") }
        if !self.json, table.rows.isEmpty { Terminal.printError("nothing matches") }
    }
}
