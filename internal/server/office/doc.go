// Package office tells what is written in documents of office programs: Office Open XML
// (ECMA-376) and OpenDocument (ISO/IEC 26300). Both are archives of XML, of which it reads the
// texts and nothing else, with bounds for what a small file may unpack to.
package office
