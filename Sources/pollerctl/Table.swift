import Foundation

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

    init(_ header: String...) {
        self.header = header
    }

    /// Writes the table.
    func print(forPeople: Bool = Terminal.isInteractive) {
        for line in lines(forPeople: forPeople) { Terminal.printLine(line) }
    }

    /// The table line by line.
    func lines(forPeople: Bool) -> [String] {
        guard forPeople else {
            return rows.map { row in row.map(\.text).joined(separator: "\t") }
        }
        let widths = header.indices.map { column in
            max(header[column].count, rows.map { $0[column].text.count }.max() ?? 0)
        }
        let titles = header.map { Cell($0, .faint) }
        return ([titles] + rows).map { row in
            var line = ""
            for (column, cell) in row.enumerated() {
                line += Terminal.coloured(cell.text, cell.colour)
                guard column < row.count - 1 else { continue }
                line += String(repeating: " ", count: widths[column] - cell.text.count + 2)
            }
            return line
        }
    }

    /// Writes a table of names and values, which needs no header.
    func printFacts() {
        let width = rows.map { $0[0].text.count }.max() ?? 0
        for row in rows {
            let gap = String(repeating: " ", count: width - row[0].text.count + 2)
            let name = Terminal.coloured(row[0].text, row[0].colour)
            Terminal.printLine(name + gap + Terminal.coloured(row[1].text, row[1].colour))
        }
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
