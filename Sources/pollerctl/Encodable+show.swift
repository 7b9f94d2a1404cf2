import Foundation

extension Encodable {
    /// Prints the value as one line of JSON, names in order.
    func showJSON() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        Terminal.printLine(String(decoding: try encoder.encode(self), as: UTF8.self))
    }
}
