import ArgumentParser
import PollerClient
import PollerWire

import struct PollerClient.Page

// `ServerOptions.list` prints every list. A list command has a route and options that become query parameters; the item
// type defines the columns.

/// A column of a table: its title, and the cell of an item.
struct Column<Item> {
    let title: String
    /// The order in which a narrow terminal drops columns; `nil` for a column that stays.
    let drop: Int?
    /// Whether a narrow terminal may truncate it, as with addresses.
    let isCut: Bool
    let cell: (Item) -> Table.Cell

    /// Shows a value, such as a property.
    init<Value: CellValue>(
        _ title: String,
        drop: Int? = nil,
        isCut: Bool = false,
        _ value: @escaping (Item) -> Value
    ) {
        self.title = title
        self.drop = drop
        self.isCut = isCut
        cell = { value($0).cell(nil) }
    }

    /// Shows a value in a colour.
    init<Value: CellValue>(
        _ title: String,
        _ colour: Terminal.Colour,
        drop: Int? = nil,
        isCut: Bool = false,
        _ value: @escaping (Item) -> Value
    ) {
        self.init(title, drop: drop, isCut: isCut) { value($0).cell(colour) }
    }
}

/// A value that a table can show; a missing value is a dash.
protocol CellValue {
    func cell(_ colour: Terminal.Colour?) -> Table.Cell
}

extension String: CellValue {
    func cell(_ colour: Terminal.Colour?) -> Table.Cell { .init(self, colour) }
}

extension Int: CellValue {
    func cell(_ colour: Terminal.Colour?) -> Table.Cell { .init("\(self)", colour) }
}

extension Table.Cell: CellValue {
    func cell(_ colour: Terminal.Colour?) -> Table.Cell { self }
}

extension Open: CellValue {
    func cell(_ colour: Terminal.Colour?) -> Table.Cell { .init(rawValue, colour) }
}

extension Optional: CellValue where Wrapped: CellValue {
    func cell(_ colour: Terminal.Colour?) -> Table.Cell { self?.cell(colour) ?? .init("-") }
}

extension Time: CellValue {
    /// The time as a cell: relative for people, absolute for programs.
    func cell(_ colour: Terminal.Colour? = nil) -> Table.Cell {
        .init(people: relative(), programs: "\(self)", colour)
    }
}

/// An item of a list.
protocol Listed {
    static var columns: [Column<Self>] { get }
}

/// A route that returns a list.
struct ListRoute<Item: WireObject & Hashable>: Sendable {
    let path: String
    /// The page size; `nil` for a list without pages.
    let pageMax: Int?

    /// Describes a route.
    init(_ path: String, pageMax: Int? = ServerOptions.pageMax) {
        self.path = path
        self.pageMax = pageMax
    }

    /// Reads a page.
    func page(
        _ client: PollerClient,
        _ filters: [(String, String?)],
        limit: Int,
        cursor: String?
    ) async throws -> Page<Item> {
        let limits = pageMax.map { [("limit", "\(min(limit, $0))"), ("cursor", cursor)] } ?? []
        return try await client.page(path, query: filters + limits, isWhole: pageMax == nil)
    }
}

/// A command that prints the list of a route: a table, or with `--json` one item per line.
protocol ListCommand: AsyncParsableCommand {
    associatedtype Item: WireObject, Hashable

    static var route: ListRoute<Item> { get }
    var server: ServerOptions { get }
    /// The maximum number of items.
    var limit: Int { get }
    /// The message for an empty list, on a terminal.
    var whenEmpty: String { get }

    /// The columns of the table.
    func columns(_ client: PollerClient) async -> [Column<Item>]
    /// The parameters of the route that are set by options.
    func filters(_ client: PollerClient) async throws -> [(String, String?)]
    /// Prints notes on a page after the list.
    func printNotes(on page: Page<Item>)
}

extension ListCommand {
    var limit: Int { .max }
    var whenEmpty: String { "nothing matches" }

    func filters(_ client: PollerClient) async throws -> [(String, String?)] { [] }

    func printNotes(on page: Page<Item>) {}

    func run() async throws {
        try await server.perform { client in
            let (columns, filters) = (await columns(client), try await filters(client))
            var last: Page<Item>?
            try await server.list(columns, limit: limit, whenEmpty: whenEmpty) { limit, cursor in
                let page = try await Self.route.page(client, filters, limit: limit, cursor: cursor)
                last = page
                return page
            }
            if let last { printNotes(on: last) }
        }
    }
}

extension ListCommand where Item: Listed {
    func columns(_ client: PollerClient) async -> [Column<Item>] { Item.columns }
}

/// A list whose length is an option.
protocol PagedListCommand: ListCommand {
    var pageLimit: PageLimit { get }
}

extension PagedListCommand {
    var limit: Int { pageLimit.items }
}

/// How many items a list prints at most.
struct PageLimit: ParsableArguments {
    @Option(name: .customLong("limit"), help: "Maximum number of items.")
    var items = 100

    func validate() throws {
        guard items >= 1 else { throw ValidationError("--limit must be at least 1") }
    }
}

extension ServerOptions {
    /// Prints a list page by page: one JSON object per line, or a table.
    ///
    /// `page` reads a page after a cursor. `whenEmpty` is printed on a terminal if the list is empty. Reading stops after
    /// `scanMax` scanned watches. Returns the number of items.
    @discardableResult
    func list<Item>(
        _ columns: [Column<Item>],
        limit: Int,
        scanMax: Int = .max,
        whenEmpty: String = "nothing matches",
        page: (Int, String?) async throws -> Page<Item>
    ) async throws -> Int {
        var (left, scanned) = (limit, 0)
        var (cursor, hasMore) = (String?.none, false)
        var items: [Item] = []
        repeat {
            let page = try await page(min(left, Self.pageMax), cursor)
            scanned += page.looked ?? 0
            left -= page.items.count
            cursor = page.next
            hasMore = page.hasMore || page.next != nil
            if json {
                for item in page.items { Terminal.printJSON(item.json) }
            } else {
                items += page.items.map(\.value)
            }
        } while cursor != nil && left > 0 && scanned < scanMax
        if !json { Table(columns, items).print() }
        if cursor != nil, left > 0 {
            Terminal.printError(
                "searched only the newest \(scanned) watches; add --everything to search all"
            )
        }
        guard Terminal.isErrorInteractive else { return limit - left }
        if hasMore { Terminal.printError("more items exist; raise --limit") }
        if !json, items.isEmpty { Terminal.printError(whenEmpty) }
        return limit - left
    }
}

extension PollerClient {
    /// Reads a whole list.
    func everything<Item>(
        _ page: (String?) async throws -> Page<Item>
    ) async throws -> [Received<Item>] {
        try await everything(keeping: { $0 }, page)
    }

    /// Reads a whole list and keeps a part of each item, because a list may have millions.
    func everything<Item, Kept>(
        keeping part: (Received<Item>) -> Kept,
        _ page: (String?) async throws -> Page<Item>
    ) async throws -> [Kept] {
        var (found, cursor) = ([Kept](), String?.none)
        repeat {
            let page = try await page(cursor)
            found += page.items.map(part)
            cursor = page.next
        } while cursor != nil
        return found
    }
}

/// The arguments that select the objects of a command.
protocol Targets: ParsableArguments {
    associatedtype ID: CustomStringConvertible

    var server: ServerOptions { get }

    func ids(_ client: PollerClient) async throws -> [ID]
}

/// A command that changes objects one by one.
///
/// If the server rejects some of several objects, the command reports them, changes the others and exits with 1.
protocol ChangeCommand: AsyncParsableCommand {
    associatedtype Named: Targets
    associatedtype Object: Titled, Hashable, Sendable

    var targets: Named { get }

    /// Changes one object. Returns its new state and a description of the change.
    func change(_ id: Named.ID, _ client: PollerClient) async throws -> (Received<Object>, String)
}

extension ChangeCommand {
    func run() async throws {
        let server = targets.server
        try await server.perform { client in
            try await server.each(try await targets.ids(client)) { id in
                let (object, words) = try await change(id, client)
                object.show(change: words, json: server.json)
            }
        }
    }
}
