#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Some items, and where the next ones are.
public struct Page<Item: Hashable & Sendable>: Hashable, Sendable {
    /// The items, in order.
    public let items: [Item]
    /// Whether there is more right now.
    public let hasMore: Bool
    /// The cursor of the next page; nil when this was the last.
    public let next: String?
    /// Events before these are no longer kept: read the watches anew.
    ///
    /// Never for watches.
    public let hasGap: Bool
    /// The page as the server sent it.
    public let json: String

    /// Reads a page whose items are read by `make`.
    init(_ answer: PollerClient.Answer, _ make: (String) -> Item?) throws(PollerError) {
        let wire = try answer.decoded(PageWire.self)
        var items: [Item] = []
        for text in JSONSlices.elements(ofMember: "data", in: answer.body) {
            guard let item = make(text) else {
                throw .unintelligible(
                    "an item of the answer cannot be understood: use a client of the server's "
                        + "version"
                )
            }
            items.append(item)
        }
        self.items = items
        hasMore = wire.hasMore
        next = wire.next
        hasGap = wire.gap ?? false
        json = answer.text
    }
}

/// A page without its items.
private struct PageWire: Decodable {
    let hasMore: Bool
    let next: String?
    let gap: Bool?

    enum CodingKeys: String, CodingKey {
        case next, gap
        case hasMore = "has_more"
    }
}

/// Cuts JSON text at its own seams, so that parts are kept byte for byte: what a customer's
/// signature covers must not be written anew.
enum JSONSlices {
    /// The elements of an array that is a member of the outermost object; none when there is no
    /// such array.
    ///
    /// The text must be well formed.
    static func elements(ofMember name: String, in bytes: [UInt8]) -> [String] {
        let wanted = Array("\"\(name)\"".utf8)
        var scan = Scan(bytes: bytes)
        var lastString: Range<Int>?
        var elements: [String] = []
        var elementStart: Int?
        while let token = scan.next() {
            switch token {
            case .string(let range):
                if scan.depth == 1 { lastString = range }
            case .open(let byte, let position):
                let isWanted = lastString.map { bytes[$0].elementsEqual(wanted) } ?? false
                if scan.depth == 2, byte == UInt8(ascii: "["), isWanted, elementStart == nil {
                    elementStart = position + 1
                }
            case .comma(let position):
                if scan.depth == 1 { lastString = nil }
                if scan.depth == 2, let start = elementStart {
                    elements.append(text(bytes[start..<position]))
                    elementStart = position + 1
                }
            case .close(let position):
                guard scan.depth == 1, let start = elementStart else { continue }
                let last = text(bytes[start..<position])
                return last.isEmpty ? elements : elements + [last]
            }
        }
        return elements
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let start = bytes.drop(while: isSpace)
        let end = start.lastIndex { !isSpace($0) } ?? start.startIndex - 1
        return String(decoding: start[start.startIndex..<(end + 1)], as: UTF8.self)
    }

    /// Walks over brackets, commas and strings.
    private struct Scan {
        enum Token {
            case string(Range<Int>)
            case open(UInt8, Int)
            case close(Int)
            case comma(Int)
        }

        let bytes: [UInt8]
        var position = 0
        /// Brackets open after the last token.
        var depth = 0

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func next() -> Token? {
            while position < bytes.count {
                let start = position
                position += 1
                switch bytes[start] {
                case UInt8(ascii: "\""):
                    while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                        position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
                    }
                    position = min(position + 1, bytes.count)
                    return .string(start..<position)
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    return .open(bytes[start], start)
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    return .close(start)
                case UInt8(ascii: ","): return .comma(start)
                default: continue
                }
            }
            return nil
        }
    }
}
