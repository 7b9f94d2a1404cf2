/// The release of this program.
enum Release {
    /// The version that a process reports in lists of workers.
    static let version = "1.0.0" + (isOptimised ? "" : "-debug")
    #if DEBUG
    private static let isOptimised = false
    #else
    private static let isOptimised = true
    #endif
}
