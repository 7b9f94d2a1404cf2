import Foundation

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
