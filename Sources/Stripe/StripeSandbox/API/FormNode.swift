/// A parameter: a text, or more parameters in brackets; a list is an object with numbers for names.
indirect enum FormNode: Sendable {
    case text(String)
    case fields([String: FormNode])
}
