import Foundation
import PollerClient

extension WatchEvent {
    /// Prints the event on one line: as JSON, or for people.
    func show(json isJSON: Bool) {
        guard !isJSON else { return Terminal.printLine(json) }
        let change = "\(previousStatus ?? "-") → \(status ?? "-")"
        let cells: [Table.Cell] = [
            .init(polledAt.shown, .faint), .init(source, .strong), .init("#\(seq)"),
            .init(type, Watch.colour(status, isFinal: isFinal)), .init(change),
            .init(closedReason ?? "", .faint),
        ]
        guard Terminal.isInteractive else {
            return Terminal.printLine(cells.map(\.text).joined(separator: "\t"))
        }
        Terminal.printLine(
            cells.map { Terminal.coloured($0.text, $0.colour) }.joined(separator: "  ")
        )
    }
}
