import Poller

extension RawJSON {
    /// The value of one of an object's own members as it stands in the text; nil when there is
    /// none.
    ///
    /// The text must be well formed, as everything this system wrote is.
    func member(_ name: String) -> RawJSON? {
        let bytes = Array(description.utf8)
        let wanted = Array(name.utf8)
        var position = 0
        var depth = 0
        var isName = true
        var valueStart: Int?
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let start = position + 1
                position += 1
                while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                    position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
                }
                if depth == 1, isName, position <= bytes.count,
                    bytes[start..<min(position, bytes.count)].elementsEqual(wanted)
                {
                    valueStart = position
                }
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: ":") where depth == 1:
                isName = false
                if valueStart != nil { valueStart = position + 1 }
            case UInt8(ascii: ",") where depth == 1, UInt8(ascii: "}") where depth == 1:
                if let valueStart {
                    let text = String(decoding: bytes[valueStart..<position], as: UTF8.self)
                    return RawJSON(unchecked: text)
                }
                isName = true
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
        }
        return nil
    }
}
