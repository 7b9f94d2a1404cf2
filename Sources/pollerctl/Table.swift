import Foundation
import JSONText
import PollerClient
import PollerWire
import SafeNumbers

/// Rows of text: aligned under a header for people, with tabs and without a header for programs.
struct Table {
    /// A cell with its colour.
    struct Cell {
        /// What people read.
        let text: String
        /// What programs read.
        let plain: String
        var colour: Terminal.Colour?

        init(_ text: String, _ colour: Terminal.Colour? = nil) {
            self.init(people: text, programs: text, colour)
        }

        /// What is told to people in another way than to programs, whose scripts know it.
        init(people text: String, programs plain: String, _ colour: Terminal.Colour? = nil) {
            self.text = Terminal.clean(text)
            self.plain = Terminal.clean(plain)
            self.colour = colour
        }
    }

    /// Of a sentence that is cut to less nobody learns anything.
    private static let sentenceMin = 16

    let header: [String]
    var rows: [[Cell]] = []
    /// The columns a narrow terminal does without, the least important first.
    private let optional: [String]
    /// The columns of addresses that a narrow terminal cuts, the least important first.
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

    /// Writes the table; of an empty one nothing, which is for whoever asked to explain.
    func print(forPeople: Bool = Terminal.isInteractive) {
        guard !rows.isEmpty else { return }
        for line in lines(forPeople: forPeople) { Terminal.printLine(line) }
    }

    /// The table line by line; for people no wider than their terminal, but for what is there to be copied.
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

    /// The columns that fit, and how wide each is; nil where they cannot be made to fit.
    ///
    /// Optional columns that say the same in each row go first, then the others. Where that is not
    /// enough, the widest of sentences is cut, and then the columns in ``shortened``: other ids and URLs
    /// are there to be copied.
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

    /// Each row as a block, a cell a line: what a terminal shows that is narrower than any table.
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

/// Names and values, of which only those with a value are shown, one a line.
struct Facts {
    private(set) var rows: [[Table.Cell]] = []

    mutating func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
        if let value { add(name, Table.Cell(value, colour)) }
    }

    mutating func add(_ name: String, _ cell: Table.Cell) {
        rows.append([.init(name, .faint), cell])
    }

    /// Adds a time, for people with how far away it is.
    mutating func add(_ name: String, at time: Time?, _ colour: Terminal.Colour? = nil) {
        guard let time else { return }
        add(name, .init(people: "\(time)  (\(time.away()))", programs: "\(time)", colour))
    }

    /// Writes the facts, which need no header.
    func print() {
        for line in lines(forPeople: Terminal.isInteractive) { Terminal.printLine(line) }
    }

    /// The facts line by line; what is longer than a line of a terminal goes on below its beginning.
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
    /// How far away it is, for people: `in 4 s`, `2 min ago`, `now`.
    func away(from now: Date = Date()) -> String {
        let ms = Int64(saturating: (date.timeIntervalSince(now) * 1000).rounded())
        // Two clocks, and the way from one to the other.
        if ms.magnitude < 1000 { return "now" }
        let span = Duration.milliseconds(Int64(clamping: ms.magnitude)).shown
        return ms > 0 ? "in \(span)" : "\(span) ago"
    }
}

/// A value of the server's with a name, by which lines of commands call it.
protocol Titled {
    var title: String { get }
}

/// A value of the server's that people are shown.
protocol Shown: Titled {
    /// What there is to say of it alone.
    var facts: Facts { get }
}

extension Received where Shape: Titled {
    /// Prints what became of it: as the server sent it, or as a line.
    func show(change: String, json isJSON: Bool) {
        if isJSON { return Terminal.printJSON(json) }
        Terminal.printLine("\(Terminal.clean(value.title)) \(change)")
    }
}

extension Received where Shape: Shown {
    /// Prints the value: as the server sent it, or one fact a line.
    func show(json isJSON: Bool) {
        if isJSON { Terminal.printJSON(json) } else { value.facts.print() }
    }
}

extension Encodable {
    /// Prints the value as one line of JSON, names in order.
    func showJSON() throws {
        Terminal.printJSON(try jsonText)
    }

    /// The value as JSON, names in order.
    var jsonText: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}

extension RawJSON {
    /// The value without spaces, and with the members of each object in the order of their names.
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
