import Foundation
import JSONText
import PollerClient
import PollerWire
import SafeNumbers

/// A table: aligned with a header on a terminal, tab-separated without a header elsewhere.
struct Table {
    /// A cell with its colour.
    struct Cell {
        /// The text on a terminal.
        let text: String
        /// The text for programs.
        let plain: String
        var colour: Terminal.Colour?

        init(_ text: String, _ colour: Terminal.Colour? = nil) {
            self.init(people: text, programs: text, colour)
        }

        /// A cell with a separate stable text for programs.
        init(people text: String, programs plain: String, _ colour: Terminal.Colour? = nil) {
            self.text = Terminal.clean(text)
            self.plain = Terminal.clean(plain)
            self.colour = colour
        }
    }

    /// The minimum width of a truncated sentence; less is unreadable.
    private static let sentenceMin = 16

    let header: [String]
    var rows: [[Cell]] = []
    /// The columns that a narrow terminal drops, least important first.
    private let optional: [String]
    /// The address columns that a narrow terminal truncates, least important first.
    private let shortened: [String]

    init(_ header: String..., optional: [String] = [], shortened: [String] = []) {
        self.header = header
        self.optional = optional
        self.shortened = shortened
    }

    /// A row for each item.
    init<Item>(_ columns: [Column<Item>], _ items: [Item] = []) {
        header = columns.map(\.title)
        rows = items.map { item in columns.map { $0.cell(item) } }
        let dropped = columns.filter { $0.drop != nil }
        optional = dropped.sorted { ($0.drop ?? 0) < ($1.drop ?? 0) }.map(\.title)
        shortened = columns.filter(\.isCut).map(\.title)
    }

    /// Prints the table; prints nothing for an empty one.
    func print(forPeople: Bool = Terminal.isInteractive) {
        guard !rows.isEmpty else { return }
        for line in lines(forPeople: forPeople) { Terminal.printLine(line) }
    }

    /// The lines of the table; for people no wider than the terminal, except for IDs and URLs.
    func lines(forPeople: Bool, within widthMax: Int? = Terminal.width) -> [String] {
        guard forPeople else {
            return rows.map { row in row.map(\.plain).joined(separator: "\t") }
        }
        guard let (columns, widths) = layout(within: widthMax ?? .max) else {
            return stacked(within: widthMax ?? .max)
        }
        let titles = header.map { Cell($0, .faint) }
        return ([titles] + rows).map { row in
            var line = ""
            for column in columns {
                let cell = row[column]
                let isCut = cell.text.columns > widths[column]
                let text =
                    isCut ? cell.text.prefix(columns: widths[column] - 1) + "…" : cell.text
                line += Terminal.coloured(text, cell.colour)
                guard column != columns.last else { continue }
                line += String(repeating: " ", count: widths[column] - text.columns + 2)
            }
            return line
        }
    }

    /// The columns that fit and their widths; `nil` if no layout fits.
    ///
    /// Optional columns with equal values are dropped first, then the others. After that the widest
    /// sentence is truncated, then the columns in ``shortened``. Other IDs and URLs stay whole, so that
    /// they can be copied.
    private func layout(within widthMax: Int) -> (columns: [Int], widths: [Int])? {
        var widths = header.indices.map { column in
            max(header[column].columns, rows.map { $0[column].text.columns }.max() ?? 0)
        }
        var columns = Array(header.indices)
        func excess() -> Int {
            columns.reduce(2 * (columns.count - 1)) { $0 + widths[$1] } - widthMax
        }
        let expendable = optional.compactMap(header.firstIndex(of:))
        let isSame = { (column: Int) in Set(rows.map { $0[column].text }).count == 1 }
        for column in expendable.filter(isSame) + expendable where excess() > 0 {
            columns.removeAll { $0 == column }
        }
        guard excess() > 0 else { return (columns, widths) }
        let sentences = columns.filter { column in rows.contains { $0[column].text.contains(" ") } }
        let widest = sentences.max { widths[$0] < widths[$1] }
        let addresses = shortened.compactMap(header.firstIndex(of:)).filter { columns.contains($0) }
        for column in [widest].compactMap(\.self) + addresses where excess() > 0 {
            widths[column] -= min(excess(), max(widths[column] - Self.sentenceMin, 0))
        }
        return excess() > 0 ? nil : (columns, widths)
    }

    /// Each row as a block with one cell per line, for terminals too narrow for a table.
    private func stacked(within widthMax: Int) -> [String] {
        var lines: [String] = []
        for row in rows {
            if !lines.isEmpty { lines.append("") }
            lines.append(Terminal.coloured(row.first?.text ?? "", row.first?.colour))
            var facts = Facts()
            for (name, cell) in zip(header, row).dropFirst() where !["", "-"].contains(cell.text) {
                facts.add(name.lowercased(), cell)
            }
            lines += facts.lines(within: widthMax - 2).map { "  " + $0 }
        }
        return lines
    }
}

/// Name-value pairs, one per line; pairs without a value are omitted.
struct Facts {
    private(set) var rows: [[Table.Cell]] = []

    mutating func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
        if let value { add(name, Table.Cell(value, colour)) }
    }

    mutating func add(_ name: String, _ cell: Table.Cell) {
        rows.append([.init(name, .faint), cell])
    }

    /// Adds a time; on a terminal with its distance from now.
    mutating func add(_ name: String, at time: Time?, _ colour: Terminal.Colour? = nil) {
        guard let time else { return }
        add(name, .init(people: "\(time)  (\(time.relative()))", programs: "\(time)", colour))
    }

    func print() {
        for line in lines(forPeople: Terminal.isInteractive) { Terminal.printLine(line) }
    }

    /// The lines of the facts; long values are wrapped and aligned.
    func lines(forPeople: Bool = true, within widthMax: Int? = Terminal.width) -> [String] {
        let width = rows.compactMap { $0.first?.text.columns }.max() ?? 0
        return rows.flatMap { row in
            guard row.count == 2 else { return [String]() }
            let text = forPeople ? row[1].text : row[1].plain
            let room = forPeople ? widthMax.map { $0 - width - 2 } : nil
            return Terminal.wrapped(text, within: room).enumerated().map { index, part in
                let name = index == 0 ? row[0].text : ""
                let gap = String(repeating: " ", count: width - name.columns + 2)
                return Terminal.coloured(name, row[0].colour) + gap
                    + Terminal.coloured(part, row[1].colour)
            }
        }
    }
}

extension Time {
    /// The distance from now: `in 4 s`, `2 min ago`, `now`.
    func relative(to now: Date = Date()) -> String {
        let ms = Int64(saturating: (date.timeIntervalSince(now) * 1000).rounded())
        // Less than the difference of two clocks and the network delay.
        if ms.magnitude < 1000 { return "now" }
        let span = Duration.milliseconds(Int64(clamping: ms.magnitude)).shown
        return ms > 0 ? "in \(span)" : "\(span) ago"
    }
}

/// A server object with a title for output lines.
protocol Titled {
    var title: String { get }
}

/// A server object that can be printed as facts.
protocol Shown: Titled {
    /// The facts of a single object.
    var facts: Facts { get }
}

extension Received where Shape: Titled {
    /// Prints a change: the server's JSON, or one line.
    func show(change: String, json isJSON: Bool) {
        if isJSON { return Terminal.printJSON(json) }
        Terminal.printLine("\(Terminal.clean(value.title)) \(change)")
    }
}

extension Received where Shape: Shown {
    /// Prints the object: the server's JSON, or one fact per line.
    func show(json isJSON: Bool) {
        if isJSON { Terminal.printJSON(json) } else { value.facts.print() }
    }
}

extension Encodable {
    /// Prints the value as one line of JSON with sorted names.
    func showJSON() throws {
        Terminal.printJSON(try jsonText)
    }

    /// The value as JSON with sorted names.
    var jsonText: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}

extension RawJSON {
    /// The value without white space, with the members of each object sorted by name.
    var inOrder: String {
        if let members {
            let sorted = members.sorted { $0.name < $1.name }
            let texts = sorted.map { "\(JSONWriter.literal($0.name)):\($0.value.inOrder)" }
            return "{\(texts.joined(separator: ","))}"
        }
        guard let elements else { return description }
        return "[\(elements.map(\.inOrder).joined(separator: ","))]"
    }
}
