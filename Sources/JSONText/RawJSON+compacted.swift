extension RawJSON {
    /// The same value on one line: without white space outside strings.
    ///
    /// It may be used in every format that separates records by line ends: NDJSON, event streams,
    /// logs, archives. A valid string contains no line end, because RFC 8259 §7 requires that
    /// control characters are escaped. An invalid text loses its line ends even inside strings.
    /// U+2028 and U+2029 remain: they end no line of NDJSON.
    ///
    /// One pass over the bytes. A value that is already compact is returned unchanged.
    package var compacted: RawJSON {
        let text = bytes.span
        var kept: [UInt8] = []
        // The bytes from here on are not in `kept` yet.
        var start = range.lowerBound
        var at = start
        var isInString = false
        while at < range.upperBound {
            let byte = text[at]
            at += 1
            switch byte {
            case UInt8(ascii: "\""):
                isInString.toggle()
                if isInString { at = ByteWord.special(in: text, from: at, range.upperBound) }
            case UInt8(ascii: "\\"):
                // The next byte ends no string, but it may be a line end.
                guard isInString, at < range.upperBound, !Self.isLineEnd(text[at]) else { continue }
                at += 1
            case 0x0A, 0x0D, 0x20, 0x09:
                guard !isInString || Self.isLineEnd(byte) else { continue }
                if kept.isEmpty { kept.reserveCapacity(range.count) }
                kept += bytes[start..<(at - 1)]
                // An indented line begins with a run of spaces.
                while !isInString, at < range.upperBound, text[at] == 0x20 { at += 1 }
                start = at
            default: break
            }
        }
        guard start > range.lowerBound else { return self }
        kept += bytes[start..<range.upperBound]
        return RawJSON(unchecked: kept)
    }

    private static func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }
}
