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
        let bytes = utf8
        var kept: [UInt8] = []
        var start = bytes.startIndex
        var (isInString, isEscaped) = (false, false)
        for at in bytes.indices {
            let byte = bytes[at]
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = isInString
            }
            let isLineEnd = byte == 0x0A || byte == 0x0D
            guard isLineEnd || !isInString && (byte == 0x20 || byte == 0x09) else { continue }
            if kept.isEmpty { kept.reserveCapacity(bytes.count) }
            kept += bytes[start..<at]
            start = at + 1
        }
        guard start > bytes.startIndex else { return self }
        return RawJSON(unchecked: kept + bytes[start...])
    }
}
