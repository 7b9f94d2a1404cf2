import Foundation
import JSONText
import PollerClient

/// Rows of text: aligned under a header for people, with tabs and without a header for programs.
struct Table {
    /// A cell with its colour.
    struct Cell {
        let text: String
        var colour: Terminal.Colour?

        init(_ text: String, _ colour: Terminal.Colour? = nil) {
            self.text = Terminal.clean(text)
            self.colour = colour
        }
    }

    let header: [String]
    var rows: [[Cell]] = []
    /// The columns a narrow terminal does without, the least important first.
    private let optional: [String]

    init(_ header: String..., optional: [String] = []) {
        self.header = header
        self.optional = optional
    }

    /// Writes the table.
    func print(forPeople: Bool = Terminal.isInteractive) {
        for line in lines(forPeople: forPeople) { Terminal.printLine(line) }
    }

    /// The table line by line; for people no wider than their terminal.
    func lines(forPeople: Bool, within widthMax: Int? = Terminal.width) -> [String] {
        guard forPeople else {
            return rows.map { row in row.map(\.text).joined(separator: "\t") }
        }
        let (columns, widths) = layout(within: widthMax ?? .max)
        let titles = header.map { Cell($0, .faint) }
        return ([titles] + rows).map { row in
            var line = ""
            for column in columns {
                let cell = row[column]
                let isCut = cell.text.count > widths[column]
                let text = isCut ? cell.text.prefix(widths[column] - 1) + "…" : cell.text
                line += Terminal.coloured(text, cell.colour)
                guard column != columns.last else { continue }
                line += String(repeating: " ", count: widths[column] - text.count + 2)
            }
            return line
        }
    }

    /// The columns that fit, and how wide each is.
    ///
    /// Optional columns that say the same in each row go first, then the others. Where that is not
    /// enough, the widest of sentences is cut: ids and URLs are there to be copied.
    private func layout(within widthMax: Int) -> (columns: [Int], widths: [Int]) {
        var widths = header.indices.map { column in
            max(header[column].count, rows.map { $0[column].text.count }.max() ?? 0)
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
        let sentences = columns.filter { column in rows.contains { $0[column].text.contains(" ") } }
        if excess() > 0, let widest = sentences.max(by: { widths[$0] < widths[$1] }) {
            // Of less nobody learns anything; then the terminal wraps the line.
            widths[widest] = max(8, widths[widest] - excess())
        }
        return (columns, widths)
    }
}

/// Names and values, of which only those with a value are shown, one a line.
struct Facts {
    private(set) var rows: [[Table.Cell]] = []

    mutating func add(_ name: String, _ value: String?, _ colour: Terminal.Colour? = nil) {
        guard let value else { return }
        rows.append([.init(name, .faint), .init(value, colour)])
    }

    /// Writes the facts, which need no header.
    func print() {
        let width = rows.map { $0[0].text.count }.max() ?? 0
        for row in rows {
            let gap = String(repeating: " ", count: width - row[0].text.count + 2)
            let name = Terminal.coloured(row[0].text, row[0].colour)
            Terminal.printLine(name + gap + Terminal.coloured(row[1].text, row[1].colour))
        }
    }
}

/// A value of the server's that people are shown.
protocol Shown {
    /// What the lines of commands call it.
    var title: String { get }
    /// What there is to say of it alone.
    var facts: Facts { get }
}

extension Received where Shape: Shown {
    /// Prints the value: as the server sent it, or one fact a line.
    func show(json isJSON: Bool) {
        if isJSON { Terminal.printLine(json) } else { value.facts.print() }
    }

    /// Prints what became of it: as the server sent it, or as a line.
    func show(change: String, json isJSON: Bool) {
        Terminal.printLine(isJSON ? json : "\(Terminal.clean(value.title)) \(change)")
    }
}

extension Encodable {
    /// Prints the value as one line of JSON, names in order.
    func showJSON() throws {
        Terminal.printLine(try jsonText)
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
